// NVTX, NVIDIA's annotations for profilers (NVTX documentation, "C API"). No profiler reads them here:
// without one, the functions do nothing, as NVTX's own do.
#ifndef NVTOOLSEXT_H_V3
#define NVTOOLSEXT_H_V3

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_API
#define NVTX_DECLSPEC static inline __attribute__((unused))

#define NVTX_SUCCESS 0
#define NVTX_FAIL 1
#define NVTX_NO_PUSH_POP_TRACKING ((int)-2)

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st* nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st* nvtxStringHandle_t;
typedef struct nvtxResourceHandle* nvtxResourceHandle_t;

typedef enum nvtxColorType_t { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum nvtxMessageType_t {
    NVTX_MESSAGE_UNKNOWN = 0,
    NVTX_MESSAGE_TYPE_ASCII = 1,
    NVTX_MESSAGE_TYPE_UNICODE = 2,
    NVTX_MESSAGE_TYPE_REGISTERED = 3
} nvtxMessageType_t;
typedef enum nvtxPayloadType_t {
    NVTX_PAYLOAD_UNKNOWN = 0,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1,
    NVTX_PAYLOAD_TYPE_INT64 = 2,
    NVTX_PAYLOAD_TYPE_DOUBLE = 3,
    NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 = 4,
    NVTX_PAYLOAD_TYPE_INT32 = 5,
    NVTX_PAYLOAD_TYPE_FLOAT = 6
} nvtxPayloadType_t;
typedef enum nvtxResourceGenericType_t {
    NVTX_RESOURCE_TYPE_UNKNOWN = 0,
    NVTX_RESOURCE_TYPE_GENERIC_POINTER = 0x10001,
    NVTX_RESOURCE_TYPE_GENERIC_HANDLE = 0x10002,
    NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE = 0x10003,
    NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX = 0x10004
} nvtxResourceGenericType_t;

typedef union nvtxMessageValue_t {
    const char* ascii;
    const wchar_t* unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;

typedef struct nvtxEventAttributes_v2 {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType; /* nvtxColorType_t */
    uint32_t color;
    int32_t payloadType; /* nvtxPayloadType_t */
    int32_t reserved0;
    union payload_t {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
        uint32_t uiValue;
        int32_t iValue;
        float fValue;
    } payload;
    int32_t messageType; /* nvtxMessageType_t */
    nvtxMessageValue_t message;
} nvtxEventAttributes_t;
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef struct nvtxResourceAttributes_v0 {
    uint16_t version, size;
    int32_t identifierType;
    union identifier_t {
        const void* pValue;
        uint64_t ullValue;
    } identifier;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxResourceAttributes_t;
#define NVTX_RESOURCE_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxResourceAttributes_t))

#define CUDASIM_NVTX(result, name, value, ...)                       \
    static inline __attribute__((unused)) result name(__VA_ARGS__) { \
        return value;                                                \
    }
#define CUDASIM_NVTX_TEXTS(result, name, value, ...)                                        \
    static inline __attribute__((unused)) result name##A(__VA_ARGS__ const char* text) {    \
        (void)text;                                                                         \
        return value;                                                                       \
    }                                                                                       \
    static inline __attribute__((unused)) result name##W(__VA_ARGS__ const wchar_t* text) { \
        (void)text;                                                                         \
        return value;                                                                       \
    }
#define CUDASIM_NOTHING (void)0
#ifdef __cplusplus
#define CUDASIM_UNUSED(type, name) type
#else
#define CUDASIM_UNUSED(type, name) type name __attribute__((unused))
#endif
#define CUDASIM_DOMAIN CUDASIM_UNUSED(nvtxDomainHandle_t, domain)
#define CUDASIM_EVENT CUDASIM_UNUSED(const nvtxEventAttributes_t*, event)

CUDASIM_NVTX(void, nvtxInitialize, CUDASIM_NOTHING, CUDASIM_UNUSED(const void*, reserved))
CUDASIM_NVTX(void, nvtxDomainMarkEx, CUDASIM_NOTHING, CUDASIM_DOMAIN, CUDASIM_EVENT)
CUDASIM_NVTX(void, nvtxMarkEx, CUDASIM_NOTHING, CUDASIM_EVENT)
CUDASIM_NVTX_TEXTS(void, nvtxMark, CUDASIM_NOTHING, )
CUDASIM_NVTX(nvtxRangeId_t, nvtxDomainRangeStartEx, 0, CUDASIM_DOMAIN, CUDASIM_EVENT)
CUDASIM_NVTX(nvtxRangeId_t, nvtxRangeStartEx, 0, CUDASIM_EVENT)
CUDASIM_NVTX_TEXTS(nvtxRangeId_t, nvtxRangeStart, 0, )
CUDASIM_NVTX(void, nvtxDomainRangeEnd, CUDASIM_NOTHING, CUDASIM_DOMAIN, CUDASIM_UNUSED(nvtxRangeId_t, id))
CUDASIM_NVTX(void, nvtxRangeEnd, CUDASIM_NOTHING, CUDASIM_UNUSED(nvtxRangeId_t, id))
CUDASIM_NVTX(int, nvtxDomainRangePushEx, NVTX_NO_PUSH_POP_TRACKING, CUDASIM_DOMAIN, CUDASIM_EVENT)
CUDASIM_NVTX(int, nvtxRangePushEx, NVTX_NO_PUSH_POP_TRACKING, CUDASIM_EVENT)
CUDASIM_NVTX_TEXTS(int, nvtxRangePush, NVTX_NO_PUSH_POP_TRACKING, )
CUDASIM_NVTX(int, nvtxDomainRangePop, NVTX_NO_PUSH_POP_TRACKING, CUDASIM_DOMAIN)
CUDASIM_NVTX(int, nvtxRangePop, NVTX_NO_PUSH_POP_TRACKING, void)
CUDASIM_NVTX(nvtxResourceHandle_t, nvtxDomainResourceCreate, NULL, CUDASIM_DOMAIN,
             CUDASIM_UNUSED(nvtxResourceAttributes_t*, attributes))
CUDASIM_NVTX(void, nvtxDomainResourceDestroy, CUDASIM_NOTHING, CUDASIM_UNUSED(nvtxResourceHandle_t, resource))
CUDASIM_NVTX_TEXTS(void, nvtxDomainNameCategory, CUDASIM_NOTHING, CUDASIM_DOMAIN,
                   CUDASIM_UNUSED(uint32_t, category), )
CUDASIM_NVTX_TEXTS(void, nvtxNameCategory, CUDASIM_NOTHING, CUDASIM_UNUSED(uint32_t, category), )
CUDASIM_NVTX_TEXTS(void, nvtxNameOsThread, CUDASIM_NOTHING, CUDASIM_UNUSED(uint32_t, thread), )
CUDASIM_NVTX_TEXTS(nvtxStringHandle_t, nvtxDomainRegisterString, NULL, CUDASIM_DOMAIN, )
CUDASIM_NVTX_TEXTS(nvtxDomainHandle_t, nvtxDomainCreate, NULL, )
CUDASIM_NVTX(void, nvtxDomainDestroy, CUDASIM_NOTHING, CUDASIM_DOMAIN)

#undef CUDASIM_DOMAIN
#undef CUDASIM_EVENT

#ifdef __cplusplus
}
#endif

#ifdef UNICODE
#define nvtxMark nvtxMarkW
#define nvtxRangeStart nvtxRangeStartW
#define nvtxRangePush nvtxRangePushW
#define nvtxNameCategory nvtxNameCategoryW
#define nvtxNameOsThread nvtxNameOsThreadW
#define nvtxDomainNameCategory nvtxDomainNameCategoryW
#define nvtxDomainRegisterString nvtxDomainRegisterStringW
#define nvtxDomainCreate nvtxDomainCreateW
#else
#define nvtxMark nvtxMarkA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxRangePush nvtxRangePushA
#define nvtxNameCategory nvtxNameCategoryA
#define nvtxNameOsThread nvtxNameOsThreadA
#define nvtxDomainNameCategory nvtxDomainNameCategoryA
#define nvtxDomainRegisterString nvtxDomainRegisterStringA
#define nvtxDomainCreate nvtxDomainCreateA
#endif

#endif
