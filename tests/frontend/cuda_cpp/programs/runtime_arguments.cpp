// Calls every function of the runtime library with arguments that make no sense, each in a process of
// its own: none may crash or hang. The arguments of the program are the names of the functions.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using Any = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                              std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);

int main(int count, char** names) {
    void* const library = dlopen("libcudart.so.13", RTLD_NOW);
    if (library == nullptr) return std::puts(dlerror()), 2;
    static std::uint64_t room[4096];  // for what is written, whose address is a wild handle, too
    const auto address = reinterpret_cast<std::uint64_t>(room);
    const struct {
        const char* name;
        std::uint64_t values[4];
    } sets[] = {{"null", {0, 0, 0, 0}},
                {"room", {address, 0, 0, 0}},
                {"room, wild", {address, 0x1234, 0x1234, 0x1234}},
                {"wild, room", {0x1234, address, 0, 0}},
                {"small, room", {1, address, 1, 1}},
                {"rooms", {address, address, address, address}}};
    int failures = 0;
    for (int i = 1; i < count; ++i) {
        const auto function = reinterpret_cast<Any>(dlsym(library, names[i]));
        if (function == nullptr) std::printf("%s: not there\n", names[i]), ++failures;
        for (const auto& set : sets) {
            if (function == nullptr) break;
            // An address that is no memory of the program's may be read: a GPU's runtime crashes there,
            // too.
            std::fflush(stdout);
            const pid_t child = fork();
            if (child == 0) {
                alarm(10);
                std::freopen("/dev/null", "w", stderr);
                const auto& v = set.values;
                function(v[0], v[1], v[2], v[3], v[2], v[3], v[2], v[3], v[2], v[3]);
                _exit(0);
            }
            int status = 0;
            waitpid(child, &status, 0);
            if (!WIFSIGNALED(status)) continue;
            std::printf("%s(%s): signal %d\n", names[i], set.name, WTERMSIG(status));
            ++failures;
        }
    }
    std::printf("%d failures\n", failures);
}
