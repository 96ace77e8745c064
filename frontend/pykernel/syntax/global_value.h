// What a name from outside the function stands for. Python resolves names by identity (resolve.py);
// here they arrive as data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudasim::pykernel {

enum class GlobalKind {
    integer,  ///< `integer`; type_name "int64" or "uint64" for Python ints, else the NumPy scalar's type
    real,     ///< `real`; type_name "float64" or "float32"
    complex,  ///< `real` and `imaginary`; type_name "complex128" or "complex64"
    boolean,  ///< `integer`
    date,     ///< `integer`; type_name "datetime64[D]" or "timedelta64[h]"
    none,
    ellipsis,
    text,         ///< `text`
    bytes,        ///< `bytes`
    tuple,        ///< `elements`; a named one: `text` is its class, `names`
    tuple_class,  ///< of named tuples: `text`, `names`
    member,       ///< of an enumeration: type_name, elements[0] is its value
    enumeration,  ///< `text`; its members are `elements`, called `names`
    data_type,    ///< numba.float32, np.float32, "float32"...: type_name
    intrinsic,    ///< `text` is "cuda.grid", "math.sqrt", "len": a row of the tables of callables
    function,     ///< `integer` indexes Request::functions
    record,       ///< NumPy structured scalar: type_name, bytes
    foreign,  ///< a declared function: `text` is its symbol; `elements` its arguments' types and its result's
              ///< (data_type); `integer` 1: C's calling convention, 0: Numba's
    array,    ///< NumPy array: type_name of an element, shape, bytes in C order
    device_array,  ///< in device memory: text, type_name of the array, its address in `integer`, shape,
                   ///< strides
    exception,     ///< `text` is the class name
    module,        ///< `text` is its name; only its attributes are of use
    undefined,     ///< no such name
    unsupported,   ///< `text` says why; `integer` 1: Numba has it
};

struct GlobalValue {
    GlobalKind kind = GlobalKind::undefined;
    std::string text;
    std::string type_name;
    std::int64_t integer = 0;
    double real = 0;
    double imaginary = 0;
    std::vector<GlobalValue> elements;
    std::vector<std::string> names;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;  ///< in bytes
    std::string bytes;
};

}  // namespace cudasim::pykernel
