#include "compiler/math_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <limits>
#include <vector>

namespace scry {
namespace {

/// The constants of one floating-point format.
struct Format {
  bool is_double;
  int mantissa_bits, bias, exp_terms, log_terms;
  double exp_low, exp_high;  ///< beyond these, exp is 0 or ∞
  double ln2_high, ln2_low;  ///< ln 2 in two parts, so that n·ln 2 is exact enough
  double min_normal, subnormal_scale;
};
constexpr Format kFloat{
    false,          23,       127, 7, 5, -87.33654, 88.72283, 0.693359375, -2.12194440e-4,
    1.17549435e-38, 8388608.0};
constexpr Format kDouble{true,
                         52,
                         1023,
                         13,
                         12,
                         -708.396418532264,
                         709.782712893384,
                         6.93147180369123816490e-01,
                         1.90821492927058770002e-10,
                         2.2250738585072014e-308,
                         4503599627370496.0};

class Polynomials {
 public:
  Polynomials(llvm::Module& module, llvm::Type* type)
      : module_(module),
        type_(type),
        format_(type->isDoubleTy() ? kDouble : kFloat),
        bits_(type->isDoubleTy() ? llvm::Type::getInt64Ty(module.getContext())
                                 : llvm::Type::getInt32Ty(module.getContext())) {}

  llvm::Function* exp() {
    llvm::Function* f = begin("scry.exp");
    llvm::IRBuilder<> b(&f->getEntryBlock());
    llvm::Value* x = f->getArg(0);
    llvm::Value *low = num(format_.exp_low), *high = num(format_.exp_high);
    llvm::Value* in_range = b.CreateSelect(b.CreateFCmpOGT(x, low), x, low);
    in_range = b.CreateSelect(b.CreateFCmpOLT(in_range, high), in_range, high);
    // n = round(x / ln 2) by the addition of 1.5·2^mantissa_bits, whose last bits then hold n.
    const double magic = 1.5 * std::ldexp(1.0, format_.mantissa_bits);
    llvm::Value* shifted =
        b.CreateFAdd(b.CreateFMul(in_range, num(1.4426950408889634)), num(magic));
    llvm::Value* n = b.CreateFSub(shifted, num(magic));
    llvm::Value* r = fma(b, n, num(-format_.ln2_high), in_range);
    r = fma(b, n, num(-format_.ln2_low), r);
    // Taylor: |r| ≤ ln 2 / 2.
    double factorial = 1;
    std::vector<double> c{1};
    for (int i = 1; i <= format_.exp_terms; ++i) c.push_back(1 / (factorial *= i));
    llvm::Value* p = num(c.back());
    for (size_t i = c.size() - 1; i-- > 0;) p = fma(b, p, r, num(c[i]));
    // 2^n in two factors: n = 128 (1024) alone would overflow although the product does not.
    llvm::Value* n_bits =
        b.CreateSub(b.CreateBitCast(shifted, bits_), b.CreateBitCast(num(magic), bits_));
    llvm::Value* half = b.CreateAShr(n_bits, 1);
    llvm::Value* y = b.CreateFMul(b.CreateFMul(p, power_of_two(b, half)),
                                  power_of_two(b, b.CreateSub(n_bits, half)));
    y = b.CreateSelect(b.CreateFCmpOLT(x, low), num(0), y);
    y = b.CreateSelect(b.CreateFCmpOGT(x, high), infinity(), y);
    b.CreateRet(b.CreateSelect(b.CreateFCmpUNO(x, x), x, y));
    return f;
  }

  llvm::Function* log() {
    llvm::Function* f = begin("scry.log");
    llvm::IRBuilder<> b(&f->getEntryBlock());
    llvm::Value* x = f->getArg(0);
    llvm::Value* tiny = b.CreateFCmpOLT(x, num(format_.min_normal));
    llvm::Value* scaled = b.CreateSelect(tiny, b.CreateFMul(x, num(format_.subnormal_scale)), x);
    llvm::Value* bits = b.CreateBitCast(scaled, bits_);
    // x = m·2^e with m in [√½, √2).
    llvm::Value* offset = b.CreateBitCast(num(std::sqrt(0.5)), bits_);
    llvm::Value* e =
        b.CreateAShr(b.CreateSub(bits, offset), static_cast<uint64_t>(format_.mantissa_bits));
    llvm::Value* m = b.CreateBitCast(
        b.CreateSub(bits, b.CreateShl(e, static_cast<uint64_t>(format_.mantissa_bits))), type_);
    llvm::Value* exponent = b.CreateSIToFP(e, type_);
    exponent = b.CreateSelect(tiny, b.CreateFSub(exponent, num(format_.mantissa_bits)), exponent);
    // log m = 2 artanh z, z = (m - 1)/(m + 1), |z| ≤ 0.172.
    llvm::Value* z = b.CreateFDiv(b.CreateFSub(m, num(1)), b.CreateFAdd(m, num(1)));
    llvm::Value* z2 = b.CreateFMul(z, z);
    llvm::Value* p = num(2.0 / (2 * format_.log_terms + 1));
    for (int i = format_.log_terms - 1; i >= 1; --i) p = fma(b, p, z2, num(2.0 / (2 * i + 1)));
    llvm::Value* log_m = fma(b, b.CreateFMul(z, z2), p, b.CreateFMul(num(2), z));
    llvm::Value* y = fma(b, exponent, num(format_.ln2_low), log_m);
    y = fma(b, exponent, num(format_.ln2_high), y);
    y = b.CreateSelect(b.CreateFCmpOEQ(x, num(0)), b.CreateFNeg(infinity()), y);
    y = b.CreateSelect(b.CreateFCmpOEQ(x, infinity()), infinity(), y);
    llvm::Value* nan = llvm::ConstantFP::getNaN(type_);
    b.CreateRet(b.CreateSelect(b.CreateFCmpULT(x, num(0)), nan, y));
    return f;
  }

 private:
  llvm::Function* begin(const std::string& name) {
    auto* f = llvm::Function::Create(llvm::FunctionType::get(type_, {type_}, false),
                                     llvm::Function::InternalLinkage,
                                     name + (format_.is_double ? ".f64" : ".f32"), module_);
    f->addFnAttr(llvm::Attribute::AlwaysInline);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    llvm::BasicBlock::Create(module_.getContext(), "entry", f);
    return f;
  }
  llvm::Constant* num(double value) { return llvm::ConstantFP::get(type_, value); }
  llvm::Constant* infinity() { return llvm::ConstantFP::getInfinity(type_); }
  llvm::Value* fma(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    return b.CreateIntrinsic(llvm::Intrinsic::fmuladd, {type_}, {x, y, z});
  }
  llvm::Value* power_of_two(llvm::IRBuilder<>& b, llvm::Value* n) {
    llvm::Value* biased = b.CreateAdd(n, llvm::ConstantInt::getSigned(bits_, format_.bias));
    return b.CreateBitCast(b.CreateShl(biased, static_cast<uint64_t>(format_.mantissa_bits)),
                           type_);
  }

  llvm::Module& module_;
  llvm::Type* type_;
  const Format& format_;
  llvm::Type* bits_;
};

}  // namespace

bool MathEmitter::is_int(Value a) const { return a->getType()->isIntegerTy(); }
MathEmitter::Value MathEmitter::number(double value) {
  if (std::isinf(value)) return llvm::ConstantFP::getInfinity(real_, value < 0);
  return llvm::ConstantFP::get(real_, value);
}
MathEmitter::Value MathEmitter::add(Value a, Value b) {
  return is_int(a) ? b_.CreateAdd(a, b) : b_.CreateFAdd(a, b);
}
MathEmitter::Value MathEmitter::sub(Value a, Value b) {
  return is_int(a) ? b_.CreateSub(a, b) : b_.CreateFSub(a, b);
}
MathEmitter::Value MathEmitter::mul(Value a, Value b) {
  return is_int(a) ? b_.CreateMul(a, b) : b_.CreateFMul(a, b);
}
MathEmitter::Value MathEmitter::div(Value a, Value b) { return b_.CreateFDiv(a, b); }
MathEmitter::Value MathEmitter::neg(Value a) { return b_.CreateFNeg(a); }
MathEmitter::Value MathEmitter::exp(Value a) {
  return b_.CreateUnaryIntrinsic(llvm::Intrinsic::exp, a);
}
MathEmitter::Value MathEmitter::log(Value a) {
  Value positive = b_.CreateFCmpOGT(a, number(0));
  Value safe = b_.CreateSelect(positive, a, number(1));
  Value at_zero = if_equal(a, number(0), number(-std::numeric_limits<double>::infinity()),
                           number(std::numeric_limits<double>::quiet_NaN()));
  return b_.CreateSelect(positive, b_.CreateUnaryIntrinsic(llvm::Intrinsic::log, safe), at_zero);
}
MathEmitter::Value MathEmitter::sqrt(Value a) {
  // As in log: the derivative at 0 would be 0/0.
  Value zero = b_.CreateFCmpOEQ(a, number(0));
  Value safe = b_.CreateSelect(zero, number(1), a);
  return b_.CreateSelect(zero, number(0), b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, safe));
}
MathEmitter::Value MathEmitter::sigmoid(Value a) {
  // exp must stay finite, and its square too: Enzyme's derivative multiplies both.
  const double limit = real_->isDoubleTy() ? 300 : 40;
  Value e = exp(min(neg(a), number(limit)));
  return div(number(1), add(number(1), e));
}
MathEmitter::Value MathEmitter::min(Value a, Value b) { return if_greater(a, b, b, a); }
MathEmitter::Value MathEmitter::max(Value a, Value b) { return if_greater(b, a, b, a); }
MathEmitter::Value MathEmitter::if_greater(Value a, Value b, Value then, Value otherwise) {
  Value greater = is_int(a) ? b_.CreateICmpSGT(a, b) : b_.CreateFCmpOGT(a, b);
  return b_.CreateSelect(greater, then, otherwise);
}
MathEmitter::Value MathEmitter::if_equal(Value a, Value b, Value then, Value otherwise) {
  Value equal = is_int(a) ? b_.CreateICmpEQ(a, b) : b_.CreateFCmpOEQ(a, b);
  return b_.CreateSelect(equal, then, otherwise);
}
MathEmitter::Value MathEmitter::select(Value condition, Value then, Value otherwise) {
  return b_.CreateSelect(b_.CreateIsNotNull(condition), then, otherwise);
}
MathEmitter::Value MathEmitter::abs(Value a) {
  return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
}
MathEmitter::Value MathEmitter::add_in_any_order(Value total, Value a) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags = b_.getFastMathFlags();
  flags.setAllowReassoc(true);
  b_.setFastMathFlags(flags);
  return b_.CreateFAdd(total, a);
}
MathEmitter::Value MathEmitter::max_in_any_order(Value largest, Value a) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags = b_.getFastMathFlags();
  flags.setAllowReassoc(true), flags.setNoSignedZeros(true), flags.setNoNaNs(true);
  b_.setFastMathFlags(flags);
  return if_greater(a, largest, a, largest);
}
MathEmitter::Value MathEmitter::to_real(Value integer) { return b_.CreateSIToFP(integer, real_); }
MathEmitter::Value MathEmitter::int_div(Value a, Value b) { return b_.CreateSDiv(a, b); }
MathEmitter::Value MathEmitter::mod(Value a, Value b) { return b_.CreateSRem(a, b); }
MathEmitter::Value MathEmitter::equal(Value a, Value b) {
  return b_.CreateZExt(b_.CreateICmpEQ(a, b), b_.getInt32Ty());
}
MathEmitter::Value MathEmitter::less(Value a, Value b) {
  return b_.CreateZExt(b_.CreateICmpSLT(a, b), b_.getInt32Ty());
}

void expand_math(llvm::Module& module) {
  for (const bool is_double : {false, true}) {
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* type =
        is_double ? llvm::Type::getDoubleTy(context) : llvm::Type::getFloatTy(context);
    Polynomials polynomials(module, type);
    for (const bool is_log : {false, true}) {
      const std::string name =
          std::string(is_log ? "llvm.log" : "llvm.exp") + (is_double ? ".f64" : ".f32");
      llvm::Function* intrinsic = module.getFunction(name);
      if (intrinsic == nullptr || intrinsic->use_empty()) continue;
      intrinsic->replaceAllUsesWith(is_log ? polynomials.log() : polynomials.exp());
    }
  }
}

}  // namespace scry
