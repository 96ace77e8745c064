// Something that each host thread has one of, and that destructors of static objects can still use: those run
// when the thread-local objects of the main thread are gone.
#pragma once

#include <unistd.h>

namespace cudasim::cudart {

template <typename Value>
Value& of_thread() {
    static thread_local Value* value = nullptr;
    struct Owner {
        ~Owner() {
            if (gettid() == getpid()) return;  // the process ends
            delete value;
            value = nullptr;
        }
        void keep() {}
    };
    if (value == nullptr) {
        thread_local Owner owner;
        owner.keep();
        value = new Value;
    }
    return *value;
}

}  // namespace cudasim::cudart
