// What a node can work with as a message.
#ifndef KAMINO_MEMBERSHIP_AGREEMENT_RECORD_H_
#define KAMINO_MEMBERSHIP_AGREEMENT_RECORD_H_

#include <string>

#include "google/protobuf/map.h"
#include "kamino/v1/member.pb.h"
#include "membership/agreement.h"

namespace kamino::membership {

// As in NodeInstance.agreement_ranges and Hello.agreement_ranges.
using AgreementRecord =
    google::protobuf::Map<std::string, kamino::v1::AgreementRange>;

AgreementRecord ToProto(const Agreement& agreement);
Agreement FromProto(const AgreementRecord& record);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGREEMENT_RECORD_H_
