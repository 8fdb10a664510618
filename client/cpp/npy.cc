#include "client/cpp/npy.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/files.h"

namespace pyasc::client {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
// Longer heads are for structured arrays, which are refused anyway.
constexpr size_t kMaxHead = 1 << 16;

// Reads the Python literals of a header: the dictionary of str to str, bool or tuple of int.
class HeaderParser {
public:
  explicit HeaderParser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<NpyHeader> Parse() {
    NpyHeader header;
    bool have_descr = false, have_order = false, have_shape = false;
    if (!Eat('{'))
      return Malformed();
    while (!Eat('}')) {
      std::string key;
      if (!String(&key) || !Eat(':'))
        return Malformed();
      if (key == "descr") {
        std::string descr;
        if (Peek('['))
          return absl::InvalidArgumentError(
              "structured arrays are no tensors; save one field of it as a plain array");
        if (!String(&descr))
          return Malformed();
        absl::StatusOr<v1::DType> dtype = ParseDescr(descr);
        if (!dtype.ok())
          return dtype.status();
        header.type.set_dtype(*dtype);
        have_descr = true;
      } else if (key == "fortran_order") {
        if (Word("True"))
          header.fortran_order = true;
        else if (!Word("False"))
          return Malformed();
        have_order = true;
      } else if (key == "shape") {
        if (!Shape(&header.type))
          return Malformed();
        have_shape = true;
      } else {
        return Malformed();
      }
      if (!Eat(',') && !Peek('}'))
        return Malformed();
    }
    if (!have_descr || !have_order || !have_shape)
      return Malformed();
    return header;
  }

private:
  static absl::Status Malformed() {
    return absl::InvalidArgumentError("the head of this .npy file is malformed");
  }

  static absl::StatusOr<v1::DType> ParseDescr(absl::string_view descr) {
    auto refuse = [&](absl::string_view why) {
      return absl::InvalidArgumentError(absl::StrCat("elements of type '", descr, "': ", why));
    };
    char order = descr.empty() ? '?' : descr[0];
    absl::string_view kind = descr.empty() ? descr : descr.substr(1);
    if (order == '|' && kind.substr(0, 1) == "O")
      return refuse("an array of Python objects is no tensor; convert it with .astype(...)");
    if (order == '>' && kind.substr(1) != "1")
      return refuse("big-endian; convert it with a.astype(a.dtype.newbyteorder('<'))");
    struct Entry {
      absl::string_view kind;
      v1::DType dtype;
    };
    static constexpr Entry kKinds[] = {
        {"b1", v1::DTYPE_BOOL},    {"i1", v1::DTYPE_INT8},    {"i2", v1::DTYPE_INT16},
        {"i4", v1::DTYPE_INT32},   {"i8", v1::DTYPE_INT64},   {"u1", v1::DTYPE_UINT8},
        {"u2", v1::DTYPE_UINT16},  {"u4", v1::DTYPE_UINT32},  {"u8", v1::DTYPE_UINT64},
        {"f2", v1::DTYPE_FLOAT16}, {"f4", v1::DTYPE_FLOAT32}, {"f8", v1::DTYPE_FLOAT64},
        {"V2", v1::DTYPE_BFLOAT16}};
    if (order == '<' || order == '|' || order == '=' || order == '>')
      for (const Entry &entry : kKinds)
        if (kind == entry.kind)
          return entry.dtype;
    return refuse("no element type of kernels; known are bool, int8..int64, uint8..uint64, "
                  "float16, bfloat16 (as V2), float32, float64");
  }

  void Space() {
    while (!rest_.empty() && absl::ascii_isspace(rest_[0]))
      rest_.remove_prefix(1);
  }
  bool Peek(char c) {
    Space();
    return !rest_.empty() && rest_[0] == c;
  }
  bool Eat(char c) {
    if (!Peek(c))
      return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Word(absl::string_view word) {
    Space();
    if (rest_.substr(0, word.size()) != word)
      return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool String(std::string *value) {
    Space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"'))
      return false;
    size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos)
      return false;
    *value = std::string(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool Shape(v1::TensorType *type) {
    if (!Eat('('))
      return false;
    while (!Eat(')')) {
      Space();
      size_t digits = 0;
      while (digits < rest_.size() && absl::ascii_isdigit(rest_[digits]))
        ++digits;
      int64_t extent;
      if (!absl::SimpleAtoi(rest_.substr(0, digits), &extent))
        return false;
      rest_.remove_prefix(digits);
      // Python 2 wrote its long integers so.
      if (!rest_.empty() && rest_[0] == 'L')
        rest_.remove_prefix(1);
      type->add_shape(extent);
      if (!Eat(',') && !Peek(')'))
        return false;
    }
    return true;
  }

  absl::string_view rest_;
};

absl::Status Annotate(const std::string &path, const absl::Status &status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

// Reads exactly `size` bytes unless the file ends first.
absl::StatusOr<size_t> ReadSome(int fd, char *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t n = ::read(fd, data + done, size - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return absl::ErrnoToStatus(errno, "reading");
    if (n == 0)
      break;
    done += n;
  }
  return done;
}

struct OpenedNpy {
  FileDescriptor fd;
  NpyHeader header;
  // What has been read of the file so far.
  std::string head;
};

absl::StatusOr<OpenedNpy> OpenNpy(const std::string &path) {
  OpenedNpy opened;
  opened.fd = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.fd.valid())
    return absl::ErrnoToStatus(errno, path);
  opened.head.resize(kMaxHead);
  absl::StatusOr<size_t> got = ReadSome(opened.fd.get(), opened.head.data(), opened.head.size());
  if (!got.ok())
    return Annotate(path, got.status());
  opened.head.resize(*got);
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(opened.head);
  if (!header.ok())
    return Annotate(path, header.status());
  opened.header = *std::move(header);
  return opened;
}

std::string FortranToC(const v1::TensorType &type, const std::string &data) {
  int rank = type.shape_size();
  int64_t size = contract::ElementBytes(type.dtype());
  std::string result(data.size(), '\0');
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (int d = 1; d < rank; ++d)
    stride[d] = stride[d - 1] * type.shape(d - 1);
  int64_t count = data.size() / size, from = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(result.data() + i * size, data.data() + from * size, size);
    for (int d = rank - 1; d >= 0; --d) {
      from += stride[d];
      if (++index[d] < type.shape(d))
        break;
      from -= stride[d] * type.shape(d);
      index[d] = 0;
    }
  }
  return result;
}

} // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < 10)
    return absl::InvalidArgumentError("this is no .npy file; write one with numpy.save");
  int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return absl::InvalidArgumentError(
        absl::StrCat(".npy format version ", version, " is unknown; 1 to 3 are read"));
  size_t begin = version == 1 ? 10 : 12, length = 0;
  for (size_t i = 8; i < begin && i < bytes.size(); ++i)
    length |= size_t(static_cast<unsigned char>(bytes[i])) << (8 * (i - 8));
  if (bytes.size() < begin || length > bytes.size() - begin)
    return absl::InvalidArgumentError("the head of this .npy file is cut off or too long");
  absl::StatusOr<NpyHeader> header = HeaderParser(bytes.substr(begin, length)).Parse();
  if (!header.ok())
    return header;
  header->data_offset = begin + length;
  absl::StatusOr<int64_t> size = ByteSize(header->type);
  if (!size.ok())
    return size.status();
  return header;
}

absl::StatusOr<Tensor> ReadNpy(const std::string &path) {
  absl::StatusOr<OpenedNpy> opened = OpenNpy(path);
  if (!opened.ok())
    return opened.status();
  Tensor tensor;
  tensor.type = opened->header.type;
  size_t size = *ByteSize(tensor.type);
  struct stat st;
  // Before a shape that the file does not hold is allocated.
  if (::fstat(opened->fd.get(), &st) == 0 && S_ISREG(st.st_mode) &&
      size > size_t(st.st_size) - opened->header.data_offset)
    return absl::DataLossError(absl::StrCat(path, ": expected ", size, " bytes of elements for ",
                                            FormatType(tensor.type), ", met ",
                                            size_t(st.st_size) - opened->header.data_offset));
  absl::string_view in_head = absl::string_view(opened->head).substr(opened->header.data_offset);
  in_head = in_head.substr(0, size);
  tensor.data.resize(size);
  in_head.copy(tensor.data.data(), in_head.size());
  absl::StatusOr<size_t> got =
      ReadSome(opened->fd.get(), tensor.data.data() + in_head.size(), size - in_head.size());
  if (!got.ok())
    return Annotate(path, got.status());
  if (in_head.size() + *got < size)
    return absl::DataLossError(absl::StrCat(path, ": expected ", size, " bytes of elements for ",
                                            FormatType(tensor.type), ", met ",
                                            in_head.size() + *got));
  if (opened->header.fortran_order && tensor.type.shape_size() > 1)
    tensor.data = FortranToC(tensor.type, tensor.data);
  if (tensor.type.dtype() == v1::DTYPE_BOOL)
    for (char &c : tensor.data)
      c = c != 0;
  return tensor;
}

absl::StatusOr<v1::TensorType> ReadNpyType(const std::string &path) {
  absl::StatusOr<OpenedNpy> opened = OpenNpy(path);
  if (!opened.ok())
    return opened.status();
  return opened->header.type;
}

std::string FormatNpyHeader(const v1::TensorType &type) {
  absl::string_view descr = "?";
  switch (type.dtype()) {
  case v1::DTYPE_BOOL:
    descr = "|b1";
    break;
  case v1::DTYPE_INT8:
    descr = "|i1";
    break;
  case v1::DTYPE_INT16:
    descr = "<i2";
    break;
  case v1::DTYPE_INT32:
    descr = "<i4";
    break;
  case v1::DTYPE_INT64:
    descr = "<i8";
    break;
  case v1::DTYPE_UINT8:
    descr = "|u1";
    break;
  case v1::DTYPE_UINT16:
    descr = "<u2";
    break;
  case v1::DTYPE_UINT32:
    descr = "<u4";
    break;
  case v1::DTYPE_UINT64:
    descr = "<u8";
    break;
  case v1::DTYPE_FLOAT16:
    descr = "<f2";
    break;
  case v1::DTYPE_BFLOAT16:
    descr = "<V2";
    break;
  case v1::DTYPE_FLOAT32:
    descr = "<f4";
    break;
  case v1::DTYPE_FLOAT64:
    descr = "<f8";
    break;
  default:
    break;
  }
  std::string shape;
  for (int64_t extent : type.shape())
    absl::StrAppend(&shape, extent, ", ");
  // A tuple of one keeps its comma.
  if (type.shape_size() == 1)
    shape.pop_back();
  else if (type.shape_size() > 1)
    shape.resize(shape.size() - 2);
  std::string dict =
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  // The elements begin at a multiple of 64.
  size_t total = (10 + dict.size() + 1 + 63) / 64 * 64;
  dict.append(total - 10 - dict.size() - 1, ' ');
  dict += '\n';
  std::string head(kMagic);
  head += '\x01';
  head += '\x00';
  head += static_cast<char>(dict.size() & 0xff);
  head += static_cast<char>(dict.size() >> 8);
  return head + dict;
}

absl::Status WriteNpy(const std::string &path, const Tensor &tensor) {
  absl::StatusOr<int64_t> size = ByteSize(tensor.type);
  if (!size.ok())
    return Annotate(path, size.status());
  if (size_t(*size) != tensor.data.size())
    return absl::InternalError(absl::StrCat(path, ": ", FormatType(tensor.type), " takes ", *size,
                                            " bytes, but ", tensor.data.size(), " are there"));
  return WriteFile(path, {FormatNpyHeader(tensor.type), tensor.data});
}

} // namespace pyasc::client
