// Every program of this folder as one, to be compiled once: the first argument names which.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>
#include <math.h>
#include <stdio.h>
#include <helper_cuda.h>
#include "check.h"

namespace managed_add {
#define main program
#include "managed_add.cu"
#undef main
}

namespace saxpy {
#define main program
#include "saxpy.cu"
#undef main
}

namespace matmul {
#define main program
#include "matmul.cu"
#undef main
}

namespace reduction {
#define main program
#include "reduction.cu"
#undef main
}

namespace histogram {
#define main program
#include "histogram.cu"
#undef main
}

namespace transpose {
#define main program
#include "transpose.cu"
#undef main
}

namespace streams {
#define main program
#include "streams.cu"
#undef main
}

namespace convolution {
#define main program
#include "convolution.cu"
#undef main
}

namespace particles {
#define main program
#include "particles.cu"
#undef main
}

namespace device {
#define main program
#include "device.cu"
#undef main
}

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    if (name == "managed_add") return managed_add::program();
    if (name == "saxpy") return saxpy::program(argc, argv);
    if (name == "matmul") return matmul::program();
    if (name == "reduction") return reduction::program();
    if (name == "histogram") return histogram::program();
    if (name == "transpose") return transpose::program();
    if (name == "streams") return streams::program();
    if (name == "convolution") return convolution::program();
    if (name == "particles") return particles::program();
    if (name == "device") return device::program();
    return 64;
}
