import { MAX_TEST_COINS, type ClaimEvidence } from '../../../domain/claims.ts';
import type { Mode } from '../../../domain/values/ids.ts';
import { formatAmount } from '../../../domain/money/money.ts';
import { addressFamilyOf, type Network } from '../../../domain/networks/networks.ts';
import { isNobodys } from '../../../domain/networks/nobodys-address.ts';
import { refuse, type Refusal } from '../../../domain/values/result.ts';
import type { Random } from '../../../ports/random.ts';
import type { Senders } from '../../../ports/chain/senders.ts';
import { base58, fromBase58 } from '../../../chain-formats/base58.ts';
import { isSignedByWallet } from '../../../chain-formats/wallet-signature.ts';
import { person } from '../../../../state-machines/checkout-session/claims.ts';
import type { SessionState } from '../../../../state-machines/checkout-session/session.decider.ts';
import { createdOf, type DepositState } from '../../../../state-machines/checkout-session/session.state.ts';
import type { ClaimInput, PreparedClaim } from '../../shared/claim-views.ts';
import type { Outcome } from '../../shared/merchant-api.ts';

/* What proves that a deposit is the payer's, and what speaks against the address that a claim names. */

const RETRY_AFTER_SEC = 10;
/** A test payment is some whole coins plus up to 9,999 ten-thousandths of a coin. */
const COIN_UNITS = 10n ** 18n;
const TEST_PAYMENT_STEPS = 9_999;

/** Whether the address is one of our collection addresses or the treasury. */
export type IsOurs = (mode: Mode, network: Network, address: string) => boolean;

export async function evidenceOf(
  { random }: { readonly random: Random },
  { facts: { network, fromAddress } }: DepositState,
  { text, number }: PreparedClaim,
  { evidence: kind, signature = '', testAtLeast = 1 }: ClaimInput,
): Promise<Outcome<ClaimEvidence>> {
  switch (kind) {
    case 'no_sender':
      return { ok: true, value: { kind } };
    case 'test_payment': {
      if (!Number.isInteger(testAtLeast) || testAtLeast < 1 || testAtLeast > MAX_TEST_COINS)
        return invalid('at_least', `at_least must be a whole number from 1 to ${MAX_TEST_COINS}`);
      const [high = 0, low = 0] = random.bytes(2);
      const step = BigInt(1 + (((high << 8) | low) % TEST_PAYMENT_STEPS));
      return { ok: true, value: { kind, amount: formatAmount(BigInt(testAtLeast) * COIN_UNITS + step * 10n ** 14n) } };
    }
    case 'signature': {
      const normal = signatureIn(network, signature.replaceAll(/\s/g, ''));
      const isSigned =
        normal !== null && fromAddress !== null && (await isSignedByWallet(network, fromAddress, text, normal));
      if (!isSigned) return invalid('signature', `signature is not a signature of this text by ${fromAddress}`);
      return { ok: true, value: { kind, number, signature: normal } };
    }
  }
}

/** Hex with `0x` in lower case; Solana wallets use base58. Null for anything else. */
function signatureIn(network: Network, text: string): string | null {
  const bytes = addressFamilyOf(network) === 'solana' ? fromBase58(text) : null;
  if (bytes?.length === 64 && base58(bytes) === text) return `0x${Buffer.from(bytes).toString('hex')}`;
  return /^(0x)?[0-9a-fA-F]+$/.test(text) ? `0x${text.replace(/^0x/, '').toLowerCase()}` : null;
}

/** Money sent to a contract or an exchange may be lost, and an address of ours is nobody's wallet. */
export async function payeeDoubt(
  { senders, isOurs }: { readonly senders: Senders; readonly isOurs: IsOurs },
  { context }: SessionState,
  { network, fromAddress }: DepositState['facts'],
  payee: string,
): Promise<Outcome<never> | null> {
  const { mode } = createdOf(context);
  if (fromAddress !== null && person(network, payee) === person(network, fromAddress))
    return invalid('payee', 'payee is the address that paid, which is refunded without a claim');
  if (isNobodys(network, payee)) return invalid('payee', 'payee is an address without a key');
  if (isOurs(mode, network, payee))
    return invalid('payee', 'payee is an address of this service: use a wallet of your own');
  const looked = await senders.of(mode, network, payee);
  if (looked === null)
    return {
      ok: false,
      refusal: {
        code: 'service_unavailable',
        message: 'the network cannot currently tell whether the payee is a contract',
      },
      retryAfterSec: RETRY_AFTER_SEC,
    };
  if (looked.kind === 'wallet') return null;
  const what =
    looked.kind === 'contract' ? 'a contract' : `a wallet of ${looked.name ?? 'an exchange'} that many customers share`;
  return invalid('payee', `payee is ${what}: use a wallet of your own`);
}

export const invalid = (param: string, message: string): { readonly ok: false; readonly refusal: Refusal } =>
  refuse('invalid_request', message, param);
