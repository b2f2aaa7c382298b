// Where the emulated driver is: beside the program, in ../lib, or where the build put it.
#pragma once
#include <string>

namespace stitch {

// DeviceError that lists the places looked at when it is in none.
std::string emulated_driver_file();

}  // namespace stitch
