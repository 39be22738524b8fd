import type { MerchantPolicy } from '../../domain/events/merchant-events.ts';
import type { FinalityRule, PaymentOption } from '../../domain/events/session-events.ts';
import { withFloor, type FinalityFloor } from '../../domain/networks/finality-floor.ts';
import type { Mode } from '../../domain/values/ids.ts';
import { amountOf, most, type Coin } from '../../domain/money/money.ts';
import {
  addressFamilyOf,
  tokenOf,
  type AddressFamily,
  type NetworkSettings,
  type Token,
} from '../../domain/networks/networks.ts';
import type { AddressPool, CollectionAddress } from '../../ports/chain/addresses.ts';
import type { Random } from '../../ports/random.ts';
import { base58 } from '../../chain-formats/base58.ts';
import type { MerchantSettings } from '../merchants/lookup.ts';
import type { Price } from './price.ts';

export interface PaymentOptionDeps {
  readonly addresses: AddressPool;
  readonly random: Random;
  /** The networks that this installation runs in a mode, in default order. */
  readonly networks: (mode: Mode) => readonly NetworkSettings[];
  readonly finalityFloor: FinalityFloor;
}

/** Solana Pay identifies a payment by a public key that nobody needs to own. */
const REFERENCE_BYTES = 32;

/** A network that supports the coin, with its token. */
export interface Offer {
  readonly settings: NetworkSettings;
  readonly token: Token;
}

/** In the order of the merchant's policy. */
export function offered(
  deps: Pick<PaymentOptionDeps, 'networks'>,
  { policy, mode }: MerchantSettings,
  coin: Coin,
): Offer[] {
  const running = deps.networks(mode);
  const offers: Offer[] = [];
  for (const network of policy.networks) {
    if (network === 'tron' && coin === 'USDC' && !policy.offerTronUsdc) continue;
    const settings = running.find((candidate) => candidate.network === network);
    const token = settings && tokenOf(settings, coin);
    if (token) offers.push({ settings, token });
  }
  return offers;
}

/** One address per offered family that has one left. */
export function takeAddresses(
  deps: Pick<PaymentOptionDeps, 'addresses'>,
  mode: Mode,
  offers: readonly Offer[],
): Map<AddressFamily, CollectionAddress> {
  const taken = new Map<AddressFamily, CollectionAddress>();
  for (const { settings } of offers) {
    const family = addressFamilyOf(settings.network);
    if (taken.has(family)) continue;
    const address = deps.addresses.take(mode, family);
    if (address) taken.set(family, address);
  }
  return taken;
}

/** The finality rule of a transfer does not depend on its coin. */
export function optionsOf(
  deps: Omit<PaymentOptionDeps, 'addresses'>,
  merchant: MerchantSettings,
  prices: readonly Price[],
  taken: ReadonlyMap<AddressFamily, CollectionAddress>,
): PaymentOption[] {
  const policy = withFloor(merchant.policy, deps.finalityFloor);
  const highest = prices.reduce((high, { due }) => most(high, due), 0n);
  const offers = prices.flatMap(({ coin }) => offered(deps, merchant, coin).map((offer) => ({ ...offer, coin })));
  return offers.flatMap(({ settings, token, coin }) => {
    const address = taken.get(addressFamilyOf(settings.network));
    if (!address) return [];
    return {
      network: settings.network,
      coin,
      tokenAddress: token.address,
      decimals: token.decimals,
      chainId: settings.chainId,
      address: address.address,
      derivationIndex: address.derivationIndex,
      ...(address.tokenAccounts?.[coin] !== undefined && { tokenAccount: address.tokenAccounts[coin] }),
      ...(settings.network === 'solana' && { reference: base58(deps.random.bytes(REFERENCE_BYTES)) }),
      finality: finalityOf(settings, policy, highest),
    };
  });
}

/**
 * Confirmations suffice only on Ethereum below the merchant's amount; everywhere else the chain's own finality is
 * required.
 */
function finalityOf(settings: NetworkSettings, policy: MerchantPolicy, due: bigint): FinalityRule {
  const quick = settings.network === 'ethereum' && due < amountOf(policy.ethereumFinalizedFrom);
  return quick ? { kind: 'confirmations', confirmations: policy.ethereumConfirmations } : { kind: 'finalized' };
}
