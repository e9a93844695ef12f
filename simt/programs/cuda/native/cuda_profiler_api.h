// Two functions that NVIDIA declares in a package of their own.
#pragma once
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();
