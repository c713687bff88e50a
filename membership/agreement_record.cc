#include "membership/agreement_record.h"

namespace kamino::membership {

AgreementRecord ToProto(const Agreement& agreement) {
  AgreementRecord record;
  for (const auto& [name, range] : agreement) {
    record[name].set_low(range.low);
    record[name].set_high(range.high);
  }
  return record;
}

Agreement FromProto(const AgreementRecord& record) {
  Agreement agreement;
  for (const auto& [name, range] : record) {
    agreement[name] = {range.low(), range.high()};
  }
  return agreement;
}

}  // namespace kamino::membership
