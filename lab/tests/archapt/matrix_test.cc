// Damage that sums over objects notice and repair.
#include "lab/archapt/matrix.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace kamino::engine {
namespace {

constexpr size_t kLine = 64;
constexpr uint64_t kSeed = 7;

// Objects as they should be, and as they are.
class MatrixTest : public ::testing::Test {
 protected:
  // Payloads of blocks: whole lines except 16 bytes.
  void Make(const std::vector<size_t>& lines) {
    for (size_t j = 0; j < lines.size(); ++j) {
      std::string payload(lines[j] * kLine - 16, '\0');
      for (char& c : payload) c = static_cast<char>(random_());
      right_.push_back(payload);
    }
    now_ = right_;
    matrix_.number = 12;
    for (size_t j = 0; j < lines.size(); ++j) {
      matrix_.columns.push_back(
          {(j + 1) * 4096,
           {reinterpret_cast<std::byte*>(now_[j].data()), now_[j].size()}});
      matrix_.rows = std::max<uint64_t>(matrix_.rows, lines[j]);
    }
    Compute();
  }

  void Compute() {
    now_ = right_;
    sums_.assign(SumsBytes(matrix_.columns.size(), matrix_.rows) / 8, 0);
    ComputeSums(matrix_, kSeed, reinterpret_cast<std::byte*>(sums_.data()));
  }

  void Damage(size_t column, size_t row) {
    now_[column][row * kLine + random_() % 40] ^= 1 << random_() % 8;
  }

  Repair Run() {
    return RepairMatrix(matrix_, kSeed,
                        reinterpret_cast<const std::byte*>(sums_.data()),
                        [](std::byte* to, const std::byte* from,
                           size_t length) { std::memcpy(to, from, length); });
  }

  std::string Line(size_t column, size_t row) const {
    return right_[column].substr(row * kLine, kLine);
  }

  std::mt19937_64 random_{1};
  std::vector<std::string> right_;
  std::vector<std::string> now_;
  Matrix matrix_;
  std::vector<uint64_t> sums_;
};

TEST_F(MatrixTest, AnIntactMatrixNeedsNoRepair) {
  Make({4, 4, 3, 1});
  const Repair repair = Run();
  EXPECT_EQ(repair.repaired_lines, 0u);
  EXPECT_EQ(repair.lost, 0u);
  EXPECT_EQ(now_, right_);
}

TEST_F(MatrixTest, AWholeColumnIsRepaired) {
  Make({4, 4, 3, 1});
  std::fill(now_[1].begin(), now_[1].end(), '\0');
  const Repair repair = Run();
  EXPECT_EQ(repair.repaired_lines, 4u);
  EXPECT_EQ(repair.lost, 0u);
  EXPECT_EQ(now_, right_);
}

TEST_F(MatrixTest, AWholeRowIsRepaired) {
  Make({4, 4, 3, 1});
  for (size_t j = 0; j < 4; ++j) Damage(j, 0);
  EXPECT_EQ(Run().repaired_lines, 4u);
  EXPECT_EQ(now_, right_);
}

// A column may repair damage that a row alone cannot (Figure 5b).
TEST_F(MatrixTest, RowsAndColumnsRepairEachOther) {
  Make({4, 4, 4, 4});
  Damage(1, 0);
  Damage(3, 0);
  Damage(1, 2);
  Damage(3, 3);
  EXPECT_EQ(Run().lost, 0u);
  EXPECT_EQ(now_, right_);
}

// Two rows and two columns that are wrong where they cross (Figure 5c).
TEST_F(MatrixTest, FourLinesInASquareAreLost) {
  Make({4, 4, 4, 4});
  for (size_t j : {1, 3}) {
    Damage(j, 0);
    Damage(j, 3);
  }
  Damage(2, 1);
  const auto before = now_;
  const Repair repair = Run();
  EXPECT_EQ(repair.lost, 0b1010u);
  EXPECT_EQ(repair.repaired_lines, 1u);
  EXPECT_EQ(now_[1], before[1]);
  EXPECT_EQ(now_[2], right_[2]);
}

TEST_F(MatrixTest, TwoWholeColumnsAreLost) {
  Make({2, 2, 2, 2});
  for (size_t j : {0, 2}) std::fill(now_[j].begin(), now_[j].end(), 'x');
  EXPECT_EQ(Run().lost, 0b0101u);
}

// A sum would not notice: it is the same before and after.
TEST_F(MatrixTest, SwappedLinesAreDetected) {
  Make({4, 4, 4, 4});
  std::swap_ranges(now_[1].begin(), now_[1].begin() + kLine,
                   now_[1].begin() + kLine);
  EXPECT_EQ(Run().repaired_lines, 2u);
  EXPECT_EQ(now_, right_);
  // Lines of two objects, in one row.
  std::swap_ranges(now_[1].begin(), now_[1].begin() + kLine, now_[2].begin());
  EXPECT_EQ(Run().repaired_lines, 2u);
  EXPECT_EQ(now_, right_);
  // Two rows of two objects: no row and no column has a single error.
  std::swap_ranges(now_[1].begin(), now_[1].begin() + 2 * kLine,
                   now_[2].begin());
  EXPECT_EQ(Run().lost, 0b0110u);
}

TEST_F(MatrixTest, ATransferBetweenLinesIsDetected) {
  Make({4, 4, 4, 4});
  const auto add = [&](size_t column, size_t at, uint64_t amount) {
    uint64_t value;
    std::memcpy(&value, &now_[column][at], sizeof(value));
    value += amount;
    std::memcpy(&now_[column][at], &value, sizeof(value));
  };
  add(0, 8, 100);
  add(0, kLine + 8, -100);
  EXPECT_EQ(Run().repaired_lines, 2u);
  EXPECT_EQ(now_, right_);
  add(0, 8, 100);
  add(3, 8, -100);
  EXPECT_EQ(Run().repaired_lines, 2u);
  EXPECT_EQ(now_, right_);
}

// Bytes of another object, or of another matrix, are wrong even if they are the
// same.
TEST_F(MatrixTest, HashesCoverIdsAndTheMatrixNumber) {
  Make({2, 2});
  matrix_.columns[0].id += 64;
  EXPECT_NE(Run().lost, 0u);
  matrix_.columns[0].id -= 64;
  EXPECT_EQ(Run().lost, 0u);
  ++matrix_.number;
  EXPECT_EQ(Run().lost, 0b11u);
}

// For any damage: repaired lines are right, and lines reported lost cannot be
// repaired from the positions of wrong lines alone.
TEST_F(MatrixTest, DamageIsRepairedAsFarAsPossible) {
  Make({5, 4, 5, 1, 3, 5});
  int lost = 0;
  int repaired = 0;
  for (int round = 0; round < 2000; ++round) {
    now_ = right_;
    std::set<std::pair<size_t, size_t>> wrong;
    for (uint64_t count = random_() % 9; count > 0; --count) {
      const size_t j = random_() % right_.size();
      const size_t i = random_() % LinesFor(right_[j].size());
      if (wrong.insert({i, j}).second) Damage(j, i);
    }
    bool progress = true;
    while (progress) {
      progress = false;
      for (const auto& one : wrong) {
        const auto same_row = [&](const auto& w) {
          return w.first == one.first;
        };
        const auto same_column = [&](const auto& w) {
          return w.second == one.second;
        };
        if (std::count_if(wrong.begin(), wrong.end(), same_row) == 1 ||
            std::count_if(wrong.begin(), wrong.end(), same_column) == 1) {
          wrong.erase(one);
          progress = true;
          break;
        }
      }
    }
    uint64_t beyond = 0;
    for (const auto& [i, j] : wrong) beyond |= uint64_t{1} << j;
    const Repair repair = Run();
    ASSERT_EQ(repair.lost, beyond) << "round " << round;
    for (size_t j = 0; j < right_.size(); ++j) {
      if ((beyond >> j & 1) == 0) {
        ASSERT_EQ(now_[j], right_[j]);
      }
    }
    lost += beyond != 0;
    repaired += repair.repaired_lines > 0;
  }
  EXPECT_GT(lost, 20);
  EXPECT_GT(repaired, 1000);
}

}  // namespace
}  // namespace kamino::engine
