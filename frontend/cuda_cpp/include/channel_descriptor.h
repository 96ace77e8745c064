// cudaCreateChannelDesc<T>() (CUDA Runtime API, "C++ API Routines").
#ifndef __CHANNEL_DESCRIPTOR_H__
#define __CHANNEL_DESCRIPTOR_H__

#ifdef __cplusplus

#include "cuda_runtime_api.h"

namespace cudasim {

template <typename T>
struct ChannelsOf {
    static __inline__ __host__ cudaChannelFormatDesc format() {
        return ::cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
    }
};

template <int bits, int count, cudaChannelFormatKind kind>
struct Channels {
    static __inline__ __host__ cudaChannelFormatDesc format() {
        return ::cudaCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0,
                                       kind);
    }
};

#define CUDASIM_CHANNELS(type, count, kind) \
    template <>                             \
    struct ChannelsOf<type> : Channels<8 * static_cast<int>(sizeof(type)) / (count), count, kind> {};
#define CUDASIM_CHANNELS_OF_VECTORS(type, kind) \
    CUDASIM_CHANNELS(type##1, 1, kind)          \
    CUDASIM_CHANNELS(type##2, 2, kind)          \
    CUDASIM_CHANNELS(type##4, 4, kind)          \
    template <>                                 \
    struct ChannelsOf<type##3> : Channels<8 * static_cast<int>(sizeof(type##1)), 3, kind> {};
CUDASIM_CHANNELS(char, 1, cudaChannelFormatKindSigned)
CUDASIM_CHANNELS(signed char, 1, cudaChannelFormatKindSigned)
CUDASIM_CHANNELS(unsigned char, 1, cudaChannelFormatKindUnsigned)
CUDASIM_CHANNELS(short, 1, cudaChannelFormatKindSigned)
CUDASIM_CHANNELS(unsigned short, 1, cudaChannelFormatKindUnsigned)
CUDASIM_CHANNELS(int, 1, cudaChannelFormatKindSigned)
CUDASIM_CHANNELS(unsigned int, 1, cudaChannelFormatKindUnsigned)
CUDASIM_CHANNELS(float, 1, cudaChannelFormatKindFloat)
CUDASIM_CHANNELS_OF_VECTORS(char, cudaChannelFormatKindSigned)
CUDASIM_CHANNELS_OF_VECTORS(uchar, cudaChannelFormatKindUnsigned)
CUDASIM_CHANNELS_OF_VECTORS(short, cudaChannelFormatKindSigned)
CUDASIM_CHANNELS_OF_VECTORS(ushort, cudaChannelFormatKindUnsigned)
CUDASIM_CHANNELS_OF_VECTORS(int, cudaChannelFormatKindSigned)
CUDASIM_CHANNELS_OF_VECTORS(uint, cudaChannelFormatKindUnsigned)
CUDASIM_CHANNELS_OF_VECTORS(float, cudaChannelFormatKindFloat)
#undef CUDASIM_CHANNELS_OF_VECTORS
#undef CUDASIM_CHANNELS

}  // namespace cudasim

template <typename T>
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDesc() {
    return cudasim::ChannelsOf<T>::format();
}
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf() {
    return ::cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf1() {
    return ::cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf2() {
    return ::cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat);
}
static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf4() {
    return ::cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat);
}

#endif

#endif
