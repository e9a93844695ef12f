// Carries out a script of work on streams, given as text: an operation a line, with its number.
#include <cstdio>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

const int n = 6;
const size_t bytes = n * sizeof(double);

__global__ void mix(const double* a, double* b, int count) {
    int i = threadIdx.x;
    if (i < count) b[i] = 2 * b[i] + a[i];
}

// Every line of a script calls from a function of its own, by which the test tells it.
typedef std::function<void()> Call;
template <int Line>
void site(const Call& call) {
    call();
}
template <int... Lines>
std::vector<void (*)(const Call&)> sites(std::integer_sequence<int, Lines...>) {
    return {site<Lines>...};
}
const auto calls = sites(std::make_integer_sequence<int, 96>());

void launch(cudaStream_t stream, const double* a, double* b, int count) {
    mix<<<1, 32, 0, stream>>>(a, b, count);
}
void copy(const std::string& s, cudaStream_t stream, void* to, const void* from, size_t size) {
    if (s == "0") cudaMemcpy(to, from, size, cudaMemcpyDefault);
    else cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream);
}

int main(int argc, char** argv) {
    std::map<std::string, double*> arrays;
    std::map<std::string, cudaStream_t> streams{{"0", 0}, {"legacy", cudaStreamLegacy},
                                                {"own", cudaStreamPerThread}};
    std::map<std::string, cudaEvent_t> events;
    std::vector<std::vector<double>> seen;
    cudaStreamCreate(&streams["s1"]);
    cudaStreamCreate(&streams["s2"]);
    cudaStreamCreateWithFlags(&streams["n1"], cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&streams["n2"], cudaStreamNonBlocking);
    cudaEventCreate(&events["e0"]);
    cudaEventCreate(&events["e1"]);
    for (int k = 0; k < 3; ++k) {
        double values[n];
        for (int i = 0; i < n; ++i) values[i] = i + 10.0 * k;
        cudaMalloc(&arrays["d" + std::to_string(k)], bytes);
        cudaMemcpy(arrays["d" + std::to_string(k)], values, bytes, cudaMemcpyHostToDevice);
    }
    for (int k = 0; k < 2; ++k) {
        cudaMallocHost(&arrays["h" + std::to_string(k)], bytes);
        for (int i = 0; i < n; ++i) arrays["h" + std::to_string(k)][i] = i + n * k;
    }
    cudaDeviceSynchronize();

    std::istringstream script(argv[1]);
    std::string what, a, b, s;
    int line, i, j, count;
    double value;
    while (script >> line >> what) {
        if (what == "kernel") {
            script >> s >> a >> i >> b >> j >> count;
            calls[line]([&] { launch(streams[s], arrays[a] + i, arrays[b] + j, count); });
        } else if (what == "copy") {
            script >> s >> a >> i >> b >> j >> count;
            double *to = arrays[a] + i, *from = arrays[b] + j;
            size_t size = count * sizeof(double);
            calls[line]([&] { copy(s, streams[s], to, from, size); });
        } else if (what == "in") {
            script >> s >> a >> i >> count >> value;
            std::vector<double> values(count, value);
            size_t size = count * sizeof(double);
            calls[line]([&] { copy(s, streams[s], arrays[a] + i, values.data(), size); });
        } else if (what == "out") {
            script >> s >> a >> i >> count;
            std::vector<double> values(count);
            size_t size = count * sizeof(double);
            calls[line]([&] { copy(s, streams[s], values.data(), arrays[a] + i, size); });
            seen.push_back(values);
        } else if (what == "record") {
            script >> a >> s;
            calls[line]([&] { cudaEventRecord(events[a], streams[s]); });
        } else if (what == "wait") {
            script >> a >> s;
            calls[line]([&] { cudaStreamWaitEvent(streams[s], events[a], 0); });
        } else if (what == "event") {
            script >> a;
            calls[line]([&] { cudaEventSynchronize(events[a]); });
        } else if (what == "stream") {
            script >> s;
            calls[line]([&] { cudaStreamSynchronize(streams[s]); });
        } else if (what == "all") {
            calls[line]([&] { cudaDeviceSynchronize(); });
        } else if (what == "host") {
            script >> a >> i >> count >> value;
            for (int k = 0; k < count; ++k) arrays[a][i + k] = value;
        } else {
            return 1;
        }
    }
    cudaDeviceSynchronize();
    for (int k = 0; k < 3; ++k) {
        std::vector<double> values(n);
        cudaMemcpy(values.data(), arrays["d" + std::to_string(k)], bytes, cudaMemcpyDeviceToHost);
        for (double one : values) printf("%.17g ", one);
        printf("\n");
    }
    for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < n; ++i) printf("%.17g ", arrays["h" + std::to_string(k)][i]);
        printf("\n");
    }
    for (auto& values : seen) {
        for (double one : values) printf("%.17g ", one);
        printf("\n");
    }
    cudaDeviceReset();
    cudaFreeHost(arrays["h0"]);
    cudaFreeHost(arrays["h1"]);
    return 0;
}
