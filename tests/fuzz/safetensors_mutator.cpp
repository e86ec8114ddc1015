// Mutates a safetensors file's header and data apart and puts the header's length right, as nearly
// every other mutation of a file is refused at its first eight bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  uint64_t length = 0;
  if (size < sizeof(length) || max_size < 64 || seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(&length, data, sizeof(length));
  const char* bytes = reinterpret_cast<const char*>(data);
  length = std::min<uint64_t>(length, size - sizeof(length));
  std::string header(bytes + sizeof(length), length);
  std::string content(bytes + sizeof(length) + length, size - sizeof(length) - length);
  const auto mutate = [&](std::string& part) {
    const size_t others = sizeof(length) + header.size() + content.size() - part.size();
    const size_t old_size = part.size(), room = std::max(old_size, max_size - others);
    if (room == 0) return;
    part.resize(room);
    part.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(part.data()), old_size, room));
  };
  mutate(seed % 8 == 1 ? content : header);
  length = header.size();
  const size_t new_size = sizeof(length) + header.size() + content.size();
  if (new_size > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, &length, sizeof(length));
  std::copy(header.begin(), header.end(), data + sizeof(length));
  std::copy(content.begin(), content.end(), data + sizeof(length) + header.size());
  return new_size;
}
