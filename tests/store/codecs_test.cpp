// Facts about codecs stand once: they are true, and a codec that exists in this file alone is one like all others.
#include "adjoint/store/codecs/codecs.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

#include "adjoint/store/codecs/state_codec.hpp"
#include "tests/support.hpp"

namespace hindsight {
namespace {

constexpr double tolerance = 1e-3;

StateShape shape() {
  return shape_of_fields(2, {40, 5, 1}, 0, 40, 200, 200);
}

CodecSettings settings_of(const CodecKind& kind) {
  CodecSettings settings;
  settings.kind = kind.name;
  settings.tolerance = kind.has_tolerance ? tolerance : 0.0;
  return settings;
}

/// Cells that were encoded and decoded.
std::vector<double> round_trip(const Codec& codec, const std::vector<double>& cells) {
  const std::unique_ptr<Coder> coder = codec.coder(shape());
  std::vector<char> bytes(static_cast<std::size_t>(codec.bound(shape())));
  const Encoded encoded = coder->encode(cells.data(), nullptr, bytes.data());
  std::vector<double> back(cells.size());
  EXPECT_TRUE(coder->decode(bytes.data(), encoded.bytes, false, back.data()));
  return back;
}

std::vector<double> waves() {
  std::vector<double> cells(static_cast<std::size_t>(shape().doubles()));
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = std::sin(0.1 * static_cast<double>(i)) / 3;
  return cells;
}

TEST(Codecs, AreWhatTheirFactsSay) {
  const std::vector<double> cells = waves();
  EXPECT_EQ(codecs().all().front().name, no_codec);
  int count = 0;
  for (const CodecKind& kind : codecs().all()) {
    SCOPED_TRACE(kind.name);
    const auto codec = make_codec(settings_of(kind));
    EXPECT_EQ(codec == nullptr, kind.name == no_codec);
    if (!codec) continue;
    ++count;
    EXPECT_EQ(codec->is_lossless(), !kind.is_lossy);
    EXPECT_EQ(round_trip(*codec, cells) != cells, kind.is_lossy);
    EXPECT_EQ(kind.is_compressor(), !kind.is_lossy);
    CodecSettings with_difference = settings_of(kind);
    with_difference.difference = true;
    EXPECT_EQ(make_codec(with_difference)->takes_references(), kind.takes_difference);
  }
  EXPECT_EQ(count, 6);
}

TEST(Codecs, WithAToleranceKeepIt) {
  const std::vector<double> cells = waves();
  for (const CodecKind& kind : codecs().all()) {
    if (!kind.has_tolerance) continue;
    SCOPED_TRACE(kind.name);
    CodecSettings finer = settings_of(kind);
    finer.tolerance = 1e-3 * tolerance;
    const auto error = [&](const CodecSettings& settings) {
      const std::vector<double> back = round_trip(*make_codec(settings), cells);
      double largest = 0.0;
      for (std::size_t i = 0; i < cells.size(); ++i) largest = std::max(largest, std::fabs(back[i] - cells[i]));
      return largest;
    };
    EXPECT_LE(error(settings_of(kind)), tolerance / 3);
    EXPECT_LE(error(finer), 1e-3 * tolerance / 3);
    EXPECT_GT(error(settings_of(kind)), error(finer));
  }
}

TEST(Codecs, AreFollowedByCompressorsAsTheySay) {
  for (const CodecKind& kind : codecs().all()) {
    if (!kind.may_be_followed()) continue;
    SCOPED_TRACE(kind.name);
    const std::string plain = make_codec(settings_of(kind))->name();
    EXPECT_EQ(plain.ends_with("+" + default_compressor()), kind.then == Then::always) << plain;
    for (const std::string& compressor : compressor_names()) {
      CodecSettings followed = settings_of(kind);
      followed.then = compressor;
      EXPECT_TRUE(make_codec(followed)->name().ends_with("+" + compressor));
    }
  }
}

/// Bytes as they are.
class Copier final : public Compressor {
 public:
  std::int64_t compress(const char* in, std::int64_t bytes, char* out, std::int64_t room) override {
    if (bytes > room) return 0;
    std::memcpy(out, in, static_cast<std::size_t>(bytes));
    return bytes;
  }
  bool decompress(const char* in, std::int64_t bytes, char* out, std::int64_t room) override {
    if (bytes == room) std::memcpy(out, in, static_cast<std::size_t>(bytes));
    return bytes == room;
  }
};

/// Fields as floats, nothing else.
class FloatFields final : public FieldCoder {
 public:
  explicit FloatFields(const Index3& cells) : cells_(count_of(cells)) {}
  Encoded encode(const double* cells, const double*, char* out, std::int64_t) override {
    for (std::int64_t i = 0; i < cells_; ++i) {
      const auto value = static_cast<float>(cells[i]);
      std::memcpy(out + 4 * i, &value, 4);
    }
    return {4 * cells_};
  }
  bool decode(const char* in, std::int64_t bytes, bool, double* cells) override {
    if (bytes != 4 * cells_) return false;
    for (std::int64_t i = 0; i < cells_; ++i) {
      float value = 0.0F;
      std::memcpy(&value, in + 4 * i, 4);
      cells[i] = value;
    }
    return true;
  }

 private:
  std::int64_t cells_;
};

constexpr auto copies = [](const Index3& cells, auto) { return std::make_unique<FloatFields>(cells); };

void register_own() {
  static const bool is_done = [] {
    CodecKind copied{.name = "copied", .make = nullptr};
    copied.make = codecs().find(default_compressor()).make;
    copied.make_compressor = [](int, std::int64_t) { return std::make_unique<Copier>(); };
    codecs().add(copied);
    CodecKind floats{.name = "floats", .is_lossy = true, .takes_difference = false, .make = nullptr};
    floats.make = [](const CodecSettings&) { return std::make_shared<StateCodec>("floats", false, copies, copies); };
    codecs().add(floats);
    return true;
  }();
  ASSERT_TRUE(is_done);
}

Case case_with(const std::string& disk) {
  return test::text_case(
      "case: own\ngrid: {x: {cells: 30, boundary: periodic}}\nparameters: {a: 0.5}\n"
      "state: {u: {initial: \"sin(2*pi*x)/3\"}}\nequations: {dt(u): \"a*u*(1-u)\"}\ntime: {step: 0.01, to: 1}\n"
      "objective: [{final: \"u^2\"}]\nunknowns: {a: {}}\n"
      "checkpoints: {schedule: stride, host: 6 slots, disk: {size: 100 slots" +
      disk + "}}\n");
}

std::string problem(const std::string& disk) {
  try {
    case_with(disk);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Codecs, OfOnesOwnAreReadAsAllOthers) {
  register_own();
  EXPECT_EQ(case_with(", codec: floats").checkpoints.disk_codec.kind, "floats");
  EXPECT_EQ(case_with(", codec: float32, then: copied").checkpoints.disk_codec.then, "copied");
  EXPECT_NE(problem(", codec: float").find("did you mean 'floats'?"), std::string::npos) << problem(", codec: float");
  EXPECT_NE(problem(", codec: floats, tolerance: 0.1").find("; the codec is floats"), std::string::npos);
  EXPECT_NE(
      problem(", codec: copied, accept: 0.1").find("float32, bfloat16, quantised, zfp or floats; the codec is copied"),
      std::string::npos);
  const auto schema = nlohmann::json::parse(case_schema());
  const auto& tier = schema["properties"]["checkpoints"]["properties"]["host"]["anyOf"][1];
  EXPECT_EQ(tier["properties"]["codec"]["enum"].get<std::vector<std::string>>(), codecs().names());
  EXPECT_EQ(tier["properties"]["then"]["enum"].get<std::vector<std::string>>(), compressor_names());
  EXPECT_EQ(compressor_names().back(), "copied");
  EXPECT_EQ(codecs().names().back(), "floats");
  EXPECT_THROW(codecs().add({.name = "floats", .make = nullptr}), Error);
}

double gradient(const std::string& disk, const std::string& codec) {
  SessionOptions options;
  options.disk.scratch = testing::TempDir() + "codecs";
  options.costs = "forward=1,reverse=3,disk.write=2,disk.read=2";
  Session session(case_with(disk), test::self(), Sensitivities::adjoint, options);
  const Evaluation evaluation = session.gradient({});
  const SlotTier* const tier = session.tiers()[Tier::disk];
  EXPECT_TRUE(tier != nullptr && tier->codec() != nullptr && tier->codec()->name() == codec);
  EXPECT_GT(tier->traffic().reads, 0);
  return evaluation.gradient[0][0];
}

TEST(Codecs, OfOnesOwnCarryAGradient) {
  register_own();
  const double exact = gradient(", codec: zstd", "shuffle+zstd");
  const double floats = gradient(", codec: floats", "floats");
  EXPECT_NE(floats, exact);
  EXPECT_NEAR(floats, exact, 1e-5 * std::fabs(exact));
  EXPECT_EQ(floats, gradient(", codec: float32", "float32"));
}

}  // namespace
}  // namespace hindsight
