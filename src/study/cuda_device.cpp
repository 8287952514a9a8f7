#include "study/cuda_device.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cstddef>

#include "base/system/dynamic_library.hpp"

namespace saltus {

namespace {

constexpr long long attempts_of_slice = 4096;  // steps that a member tries between two looks at the host
constexpr unsigned threads_of_block = 128;

/// A library that is loaded by one of several names.
class Library {
 public:
  explicit Library(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (!library_.loaded()) library_ = DynamicLibrary(name);
    library_.keep();  // drivers do not like to be closed
  }
  bool found() const { return library_.loaded(); }
  template <class Function>
  bool find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(library_.find(name));
    return function != nullptr;
  }

 private:
  DynamicLibrary library_;
};

/// The functions of the driver and of the compiler that are needed, declared as their manuals describe them.
struct Driver {
  using Pointer = unsigned long long;
  int (*init)(unsigned);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*context_retain)(void**, int);
  int (*context_set)(void*);
  int (*context_synchronize)();
  int (*module_load)(void**, const void*);
  int (*module_function)(void**, void*, const char*);
  int (*allocate)(Pointer*, std::size_t);
  int (*release)(Pointer);
  int (*to_device)(Pointer, const void*, std::size_t);
  int (*to_host)(void*, Pointer, std::size_t);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*error_text)(int, const char**);

  bool load(const Library& library) {
    return library.find(init, "cuInit") && library.find(device_get, "cuDeviceGet") &&
           library.find(device_name, "cuDeviceGetName") && library.find(device_attribute, "cuDeviceGetAttribute") &&
           library.find(context_retain, "cuDevicePrimaryCtxRetain") && library.find(context_set, "cuCtxSetCurrent") &&
           library.find(context_synchronize, "cuCtxSynchronize") && library.find(module_load, "cuModuleLoadData") &&
           library.find(module_function, "cuModuleGetFunction") && library.find(allocate, "cuMemAlloc_v2") &&
           library.find(release, "cuMemFree_v2") && library.find(to_device, "cuMemcpyHtoD_v2") &&
           library.find(to_host, "cuMemcpyDtoH_v2") && library.find(launch, "cuLaunchKernel") &&
           library.find(error_text, "cuGetErrorString");
  }
};

struct Compiler {
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(void*, int, const char* const*);
  int (*log_size)(void*, std::size_t*);
  int (*log)(void*, char*);
  int (*code_size)(void*, std::size_t*);
  int (*code)(void*, char*);
  int (*destroy)(void**);

  bool load(const Library& library) {
    return library.find(create, "nvrtcCreateProgram") && library.find(compile, "nvrtcCompileProgram") &&
           library.find(log_size, "nvrtcGetProgramLogSize") && library.find(log, "nvrtcGetProgramLog") &&
           library.find(code_size, "nvrtcGetCUBINSize") && library.find(code, "nvrtcGetCUBIN") &&
           library.find(destroy, "nvrtcDestroyProgram");
  }
};

class LoadedDevice final : public CudaDevice {
 public:
  LoadedDevice(Driver driver, Compiler compiler) : driver_(driver), compiler_(compiler) {}

  /// Empty, or what is wrong.
  std::string start() {
    constexpr int major_attribute = 75, minor_attribute = 76;  // of the compute capability
    int device = 0;
    if (const int code = driver_.init(0); code != 0) return "the CUDA driver does not start: " + text_of(code);
    if (const int code = driver_.device_get(&device, 0); code != 0) return "there is no CUDA device: " + text_of(code);
    char name[256] = {};
    driver_.device_name(name, sizeof name - 1, device);
    name_ = name;
    driver_.device_attribute(&major_, major_attribute, device);
    driver_.device_attribute(&minor_, minor_attribute, device);
    if (const int code = driver_.context_retain(&context_, device); code != 0)
      return "the device '" + name_ + "' gives no context: " + text_of(code);
    return "";
  }

  const std::string& name() const override { return name_; }

  void compile(const std::string& source, const std::vector<std::pair<std::string, std::string>>& headers) override {
    std::vector<const char*> names, texts;
    for (const auto& [header, text] : headers) {
      names.push_back(header.c_str());
      texts.push_back(text.c_str());
    }
    void* program = nullptr;
    const std::string target = fmt::format("--gpu-architecture=sm_{}{}", major_, minor_);
    const char* const options[] = {target.c_str(), "--std=c++20",     "--device-as-default-execution-space",
                                   "--fmad=false", "--prec-div=true", "--prec-sqrt=true",
                                   "--ftz=false"};
    int code = compiler_.create(&program, source.c_str(), "flight.cu", static_cast<int>(names.size()), texts.data(),
                                names.data());
    if (code == 0) code = compiler_.compile(program, static_cast<int>(std::size(options)), options);
    if (code != 0) {
      std::size_t size = 0;
      std::string log;
      if (program && compiler_.log_size(program, &size) == 0 && size > 1) {
        log.resize(size);
        compiler_.log(program, log.data());
      }
      throw UsageError(fmt::format("the text for '{}' cannot be compiled ({}): {}", name_, code, log.substr(0, 2000)));
    }
    std::size_t size = 0;
    compiler_.code_size(program, &size);
    std::vector<char> binary(size);
    compiler_.code(program, binary.data());
    compiler_.destroy(&program);
    check(driver_.context_set(context_), "take the context");
    void* module = nullptr;
    check(driver_.module_load(&module, binary.data()), "load the code");
    check(driver_.module_function(&kernel_, module, "fly_members"), "find the kernel");
  }

  bool fly(DeviceFlight& members, long long max_steps, const std::function<bool()>& stop) override {
    check(driver_.context_set(context_), "take the context");
    const std::size_t count = static_cast<std::size_t>(members.members());
    const Memory numbers(*this, std::as_bytes(members.numbers())), integers(*this, std::as_bytes(members.integers())),
        samples(*this, std::as_bytes(members.samples())), finals(*this, std::as_bytes(members.finals()));
    flight::DeviceArrays arrays{members.members(),    attempts_of_slice,        max_steps,
                                numbers.as<double>(), integers.as<long long>(), samples.as<double>(),
                                finals.as<double>()};
    void* parameters[] = {&arrays};
    const auto blocks = static_cast<unsigned>((count + threads_of_block - 1) / threads_of_block);
    const auto states = members.integers().first(count);  // the states stand first
    for (bool flies = true; flies;) {
      if (stop()) return false;
      check(driver_.launch(kernel_, blocks, 1, 1, threads_of_block, 1, 1, 0, nullptr, parameters, nullptr), "fly");
      check(driver_.context_synchronize(), "fly");
      check(driver_.to_host(states.data(), integers.pointer(), states.size_bytes()), "copy states");
      flies = std::ranges::find(states, static_cast<long long>(flight::flying)) != states.end();
    }
    numbers.fetch(std::as_writable_bytes(members.numbers()));
    integers.fetch(std::as_writable_bytes(members.integers()));
    samples.fetch(std::as_writable_bytes(members.samples()));
    finals.fetch(std::as_writable_bytes(members.finals()));
    return true;
  }

 private:
  /// Memory of the device with a copy of an array of the host.
  class Memory {
   public:
    Memory(const LoadedDevice& device, std::span<const std::byte> bytes) : device_(device) {
      if (bytes.empty()) return;
      device.check(device.driver_.allocate(&pointer_, bytes.size()), "give memory");
      device.check(device.driver_.to_device(pointer_, bytes.data(), bytes.size()), "copy");
    }
    ~Memory() {
      if (pointer_) device_.driver_.release(pointer_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    template <class T>
    T* as() const {
      return reinterpret_cast<T*>(pointer_);
    }
    Driver::Pointer pointer() const { return pointer_; }
    void fetch(std::span<std::byte> bytes) const {
      if (!bytes.empty()) device_.check(device_.driver_.to_host(bytes.data(), pointer_, bytes.size()), "copy back");
    }

   private:
    const LoadedDevice& device_;
    Driver::Pointer pointer_ = 0;
  };

  std::string text_of(int code) const {
    const char* text = nullptr;
    driver_.error_text(code, &text);
    return text ? text : fmt::format("error {}", code);
  }
  void check(int code, const char* what) const {
    if (code != 0) throw UsageError(fmt::format("the device '{}' cannot {}: {}", name_, what, text_of(code)));
  }

  Driver driver_;
  Compiler compiler_;
  std::string name_;
  int major_ = 0, minor_ = 0;
  void *context_ = nullptr, *kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<CudaDevice> CudaDevice::open(std::string& why) {
  Driver driver{};
  Compiler compiler{};
  const Library drivers{"libcuda.so.1", "libcuda.so"};
  if (!drivers.found() || !driver.load(drivers)) {
    why = "the CUDA driver (libcuda.so.1) was not found";
    return nullptr;
  }
  const Library compilers{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  if (!compilers.found() || !compiler.load(compilers)) {
    why = "CUDA's run-time compiler (libnvrtc.so.12 or .13) was not found; add its folder to LD_LIBRARY_PATH";
    return nullptr;
  }
  auto device = std::make_unique<LoadedDevice>(driver, compiler);
  why = device->start();
  if (!why.empty()) return nullptr;
  return device;
}

}  // namespace saltus
