#include "replica/field_reader.h"

#include <random>
#include <string>

#include "absl/strings/escaping.h"
#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"
#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::replica {
namespace {

TEST(FieldReaderTest, ReadsProtoEncodings) {
  kamino::v1::PatchRequest patch;
  patch.mutable_request_id()->set_client_id(7);
  patch.set_key("key");
  patch.set_offset(uint64_t{1} << 63 | 300);
  patch.set_data(std::string(200, 'd'));
  const std::string bytes = patch.SerializeAsString();
  FieldReader fields(bytes);
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.bytes_number(), 1u);
  EXPECT_EQ(fields.varint_number(), 0u);
  EXPECT_EQ(fields.bytes(), patch.request_id().SerializeAsString());
  FieldReader within(fields.bytes());
  EXPECT_TRUE(within.Next());  // a fixed64 is passed over
  EXPECT_EQ(within.varint_number(), 0u);
  EXPECT_EQ(within.bytes_number(), 0u);
  EXPECT_EQ(within.varint(), 0u);
  EXPECT_EQ(within.bytes(), "");
  EXPECT_FALSE(within.Next());
  EXPECT_TRUE(within.ok());
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.bytes(), "key");
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.varint(), patch.offset());
  EXPECT_EQ(fields.varint_number(), 3u);
  EXPECT_EQ(fields.bytes_number(), 0u);
  EXPECT_EQ(fields.bytes(), "");
  ASSERT_TRUE(fields.Next());
  EXPECT_EQ(fields.bytes_number(), 4u);
  EXPECT_EQ(fields.bytes(), patch.data());
  EXPECT_GE(fields.bytes().data(), bytes.data());
  EXPECT_LE(fields.bytes().data() + fields.bytes().size(),
            bytes.data() + bytes.size());
  EXPECT_FALSE(fields.Next());
  EXPECT_TRUE(fields.ok());
}

bool IsSound(const std::string& bytes) {
  FieldReader fields(bytes);
  while (fields.Next()) {
  }
  EXPECT_FALSE(fields.Next());
  return fields.ok();
}

TEST(FieldReaderTest, AMalformedFieldEndsIt) {
  EXPECT_TRUE(IsSound(""));
  EXPECT_FALSE(IsSound("\xff\xff"));                  // a tag cut off
  EXPECT_FALSE(IsSound(std::string("\x00\x01", 2)));  // number 0
  EXPECT_FALSE(IsSound("\x0b"));                      // a group
  EXPECT_FALSE(
      IsSound("\x0a\x05"
              "abcd"));  // bytes cut off
  EXPECT_FALSE(
      IsSound("\x09"
              "1234567"));  // fixed64 cut off
  EXPECT_FALSE(
      IsSound("\x0d"
              "123"));                                      // fixed32 cut off
  EXPECT_FALSE(IsSound("\x08" + std::string(11, '\x80')));  // endless varint
  EXPECT_FALSE(IsSound("\x0a" + std::string(9, '\xff') + "\x01"));
}

bool HasGroup(const google::protobuf::Message& message) {
  const auto& unknown = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).type() == google::protobuf::UnknownField::TYPE_GROUP) {
      return true;
    }
  }
  return false;
}

// It accepts whatever proto's own parser accepts of a message without groups.
TEST(FieldReaderTest, ReadsTheSameKeyAsProto) {
  std::mt19937_64 random(1);
  kamino::v1::PutRequest put;
  put.mutable_request_id()->set_number(300);
  put.set_key("some key");
  put.set_value("some value");
  const std::string whole = put.SerializeAsString();
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = whole;
    for (uint64_t j = random() % 3; j > 0; --j) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    kamino::v1::PutRequest parsed;
    if (!parsed.ParseFromString(bytes) || HasGroup(parsed)) continue;
    ++taken;
    ASSERT_TRUE(IsSound(bytes)) << absl::CHexEscape(bytes);
    std::string key;
    FieldReader fields(bytes);
    while (fields.Next()) {
      if (fields.bytes_number() == 2) key = std::string(fields.bytes());
    }
    EXPECT_EQ(parsed.key(), key) << absl::CHexEscape(bytes);
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace kamino::replica
