import type { DepositFacts } from '../../domain/events/session-events.ts';
import type { UnmatchedTransfer } from '../../domain/events/transfer-events.ts';
import { MODES, type Mode } from '../../domain/values/ids.ts';
import {
  addressFamilyOf,
  comparableAddress,
  type AddressFamily,
  type Network,
} from '../../domain/networks/networks.ts';
import { CommandRefused } from '../server/commands.ts';
import type { AccountChain } from '../../ports/chain/account-chain.ts';
import type { AddressDeriver } from '../../ports/chain/addresses.ts';
import type { Chain } from '../../ports/chain/chain.ts';
import type { TreasuryAddresses } from '../../ports/outgoing/signer.ts';
import type { Senders } from '../../ports/chain/senders.ts';
import { depositFactsOf } from '../../features/deposits/chain/facts.ts';
import { indexKey, type AddressIndex } from '../../features/addresses/address-index.ts';

export interface RecordParts {
  readonly chains: readonly (
    | Pick<Chain, 'mode' | 'network' | 'settings' | 'transferAt' | 'agreeOnFinality' | 'finalized'>
    | AccountChain
  )[];
  readonly derivers: readonly AddressDeriver[];
  /** Empty where nothing is paid. */
  readonly treasuries: ReadonlyMap<Mode, TreasuryAddresses>;
  readonly core: {
    readonly addressIndexes: ReadonlyMap<string, AddressIndex>;
    /** Resolves once every address assigned before the call is in the indexes. */
    addressesComplete(): Promise<void>;
  };
  readonly senders: Senders;
}

/** An operator's description of a transfer; everything else is read from the chain. */
export interface NamedTransfer {
  readonly mode: Mode | undefined;
  readonly network: Network;
  readonly txHash: string;
  readonly logIndex: number;
  /** Derivation index of the collection address; undefined for the treasury. */
  readonly derivationIndex: number | undefined;
}

/** As chains and signer write it. */
export const TX_HASH: Readonly<Record<Network, RegExp>> = {
  ethereum: /^0x[0-9a-f]{64}$/i,
  bsc: /^0x[0-9a-f]{64}$/i,
  tron: /^[0-9a-f]{64}$/i,
  solana: /^[1-9A-HJ-NP-Za-km-z]{64,88}$/,
};

/**
 * The transfer as the chain reports it, provided that it is final and came from outside to one of our addresses that
 * belongs to no session. Throws `CommandRefused`.
 */
export async function unmatchedTransferOf(named: NamedTransfer, parts: RecordParts): Promise<UnmatchedTransfer> {
  const { network, txHash, logIndex } = named;
  if (!TX_HASH[network].test(txHash)) throw new CommandRefused(`tx is not a transaction of ${network}`);
  const chains = parts.chains.filter(
    (chain) => chain.network === network && (named.mode === undefined || chain.mode === named.mode),
  );
  if (chains.length > 1) throw new CommandRefused('mode is missing: the network is used in both test and live mode');
  const chain = chains[0];
  if (!chain) throw new CommandRefused(`this process does not read ${network}`);
  const transfer = await chain.transferAt(txHash, logIndex);
  if (!transfer) throw new CommandRefused(`there is no transfer of our coins at log index ${logIndex} of ${txHash}`);
  const isFinal =
    transfer.block.number <= ((await chain.finalized())?.number ?? -1) &&
    (await chain.agreeOnFinality(transfer, { kind: 'finalized' }));
  if (!isFinal) throw new CommandRefused('the transfer is not final yet');
  const facts = depositFactsOf(transfer, chain.settings);
  await parts.core.addressesComplete();
  assertFromOutside(facts, parts);
  const place = await placeOf(facts, chain.mode, named, parts);
  const sender = facts.fromAddress === null ? null : await parts.senders.of(chain.mode, network, facts.fromAddress);
  return { ...facts, ...place, mode: chain.mode, sender };
}

/** A sweep brings the treasury money that is already in the books: recording it here would count it twice. */
function assertFromOutside({ network, fromAddress }: DepositFacts, { core, treasuries }: RecordParts): void {
  if (fromAddress === null) return;
  const family = addressFamilyOf(network);
  // Keys of one mode may be used on the networks of the other.
  for (const mode of MODES) {
    const treasury = treasuries.get(mode)?.[family];
    if (treasury !== undefined && isSame(family, treasury, fromAddress))
      throw new CommandRefused(`it came from the ${mode} treasury itself`);
    const session = core.addressIndexes.get(indexKey(mode, family))?.sessionOf(fromAddress);
    if (session) throw new CommandRefused(`it came from the address of ${session}: it is one of our own moves`);
  }
}

async function placeOf(
  { network, toAddress }: DepositFacts,
  mode: Mode,
  { derivationIndex }: NamedTransfer,
  { core, derivers, treasuries }: RecordParts,
): Promise<Pick<UnmatchedTransfer, 'origin' | 'derivationIndex' | 'toAddress'>> {
  const family = addressFamilyOf(network);
  const session = core.addressIndexes.get(indexKey(mode, family))?.sessionOf(toAddress);
  if (session) throw new CommandRefused(`it came to the address of ${session}, which records it automatically`);
  const treasury = treasuries.get(mode)?.[family];
  if (treasury !== undefined && isSame(family, treasury, toAddress))
    return { origin: { kind: 'treasury' }, derivationIndex: null, toAddress: treasury };
  if (derivationIndex === undefined)
    throw new CommandRefused(`${toAddress} is not the treasury: give its derivation index with index`);
  const deriver = derivers.find((candidate) => candidate.mode === mode && candidate.family === family);
  const [address] = deriver && derivationIndex < deriver.capacity ? await deriver.derive(derivationIndex, 1) : [];
  if (address === undefined || !isSame(family, address, toAddress))
    throw new CommandRefused(
      `index: the address at ${derivationIndex} is ${address ?? 'none'}, the transfer came to ${toAddress}`,
    );
  return { origin: { kind: 'address' }, derivationIndex, toAddress: address };
}

const isSame = (family: AddressFamily, one: string, other: string): boolean =>
  comparableAddress(family, one) === comparableAddress(family, other);
