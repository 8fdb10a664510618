// Gives a fuzz target the files and folders that are named, without libFuzzer: the corpus is a test
// of ordinary builds, and the limits on time and memory mean something there.
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace {

constexpr double kMaxSeconds = 5;
constexpr long kMaxKilobytes = 256 * 1024;

bool Replay(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto begin = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()), text.size());
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  bool fits = seconds.count() <= kMaxSeconds && usage.ru_maxrss <= kMaxKilobytes;
  if (!fits)
    std::fprintf(stderr, "%s: %.1f s, %ld KiB at most so far\n", path.c_str(), seconds.count(),
                 usage.ru_maxrss);
  return fits;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto &entry : std::filesystem::recursive_directory_iterator(argv[i]))
      if (entry.is_regular_file())
        files.push_back(entry.path());
  }
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s FILE|FOLDER...\n", argv[0]);
    return 2;
  }
  int failures = 0;
  for (const auto &file : files)
    failures += !Replay(file);
  std::printf("%zu inputs, %d beyond the limits\n", files.size(), failures);
  return failures == 0 ? 0 : 1;
}
