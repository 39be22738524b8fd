import type { EventOf } from '../../src/domain/events/domain-event.ts';
import type { MoveCompleted, MoveFailed } from '../../src/domain/events/treasury-move-events.ts';
import type { TreasuryEvent } from '../../src/domain/events/treasury-events.ts';
import type { MerchantId, Mode, SessionId } from '../../src/domain/values/ids.ts';
import {
  COLD_STORAGE,
  DEPOSIT_WALLETS,
  NETWORK_FEES,
  OPERATOR_FUNDING,
  payableTo,
  SUSPENSE,
  TREASURY,
  UNKNOWN_OUTFLOWS,
  UNMATCHED,
  type BookedCoin,
  type EntryKind,
  type Posting,
} from '../../src/domain/money/ledger.ts';
import { amountOf } from '../../src/domain/money/money.ts';
import type { Network } from '../../src/domain/networks/networks.ts';
import type { EntryDraft } from './entry.ts';

/** The entry of a treasury event; `merchantId` for a settlement. */
export interface TreasuryBooking {
  readonly mode: Mode;
  readonly merchantId?: MerchantId;
  readonly moveId?: string;
  /** Session of the address at which something was found. */
  readonly sessionId?: SessionId;
  /** A separate entry before the event's own. */
  readonly before?: EntryDraft;
  readonly draft: EntryDraft;
}

/**
 * The deposit wallets' holding of a coin at an address, in 10^-18 units; null for an address that never held any, such
 * as the treasury's.
 */
export type HeldAt = (place: AddressAndCoin) => bigint | null;

export interface AddressAndCoin {
  readonly mode: Mode;
  readonly network: Network;
  readonly coin: BookedCoin;
  readonly address: string;
}

type Rule<Type extends TreasuryEvent['type']> = (data: EventOf<Type>['data'], heldAt: HeldAt) => TreasuryBooking | null;

const nothing = (): null => null;
const completed = (kind: EntryKind) => (data: MoveCompleted, heldAt: HeldAt) =>
  withFoundCoin(booked(kind, data), data, heldAt);
const failed = (kind: EntryKind) => (data: MoveFailed, heldAt: HeldAt) =>
  withFoundCoin(feeOnly(kind, data), data, heldAt);

/** The posting rule for each treasury event; an event without one does not compile. */
const RULES: { readonly [Type in TreasuryEvent['type']]: Rule<Type> } = {
  PayoutSequenceReserved: nothing,
  PayoutSequenceReleased: nothing,
  PayoutSequenceSigned: nothing,
  JournalPlaceMoved: nothing,
  MoveSequenceReserved: nothing,
  MoveSequenceReleased: nothing,
  SweepRequested: nothing,
  SweepSigned: nothing,
  SweepCompleted: completed('sweep'),
  SweepFailed: failed('sweep'),
  GasTopUpRequested: nothing,
  GasTopUpSigned: nothing,
  GasTopUpCompleted: completed('gas_top_up'),
  GasTopUpFailed: failed('gas_top_up'),
  WithdrawalRequested: nothing,
  WithdrawalApproved: nothing,
  WithdrawalSigned: nothing,
  WithdrawalCompleted: completed('withdrawal'),
  WithdrawalFailed: failed('withdrawal'),
  SettlementRequested: nothing,
  SettlementApproved: nothing,
  SettlementSigned: nothing,
  SettlementCompleted: completed('settlement'),
  SettlementFailed: failed('settlement'),
  ReturnRequested: nothing,
  ReturnApproved: nothing,
  ReturnSigned: nothing,
  ReturnCompleted: completed('transfer_returned'),
  ReturnFailed: failed('transfer_returned'),
  NativeReturnRequested: nothing,
  NativeReturnApproved: nothing,
  NativeReturnSigned: nothing,
  NativeReturnCompleted: completed('native_coin_returned'),
  NativeReturnFailed: failed('native_coin_returned'),
  NonceAccountRequested: nothing,
  NonceAccountSigned: nothing,
  NonceAccountCompleted: completed('nonce_account'),
  NonceAccountFailed: failed('nonce_account'),
  TreasuryFunded: funded,
  NativeCoinFound: found,
  UnknownOutflowFound: nothing,
  UnknownOutflowAcknowledged: writtenOff,
  TreasuryReconciled: nothing,
};

const ruleOf = <Type extends TreasuryEvent['type']>(type: Type): Rule<Type> => RULES[type];

export function bookTreasuryEvent(event: TreasuryEvent, heldAt: HeldAt): TreasuryBooking | null {
  return ruleOf(event.type)(event.data, heldAt);
}

/** The addresses whose money affects how the event is booked. */
export function placesOf(event: TreasuryEvent): AddressAndCoin[] {
  switch (event.type) {
    case 'SweepCompleted':
    case 'SweepFailed':
      return [feePlace(event.data)];
    case 'UnknownOutflowAcknowledged': {
      const { mode, network, coin, address } = event.data;
      return coin === null ? [] : [{ mode, network, coin, address }];
    }
    default:
      return [];
  }
}

const feePlace = ({
  mode,
  network,
  feeCoin: coin,
  feeAddress: address,
}: MoveCompleted | MoveFailed): AddressAndCoin => ({
  ...{ mode, network, coin, address },
});

/**
 * An address pays with what it holds, so a fee beyond the books was paid with coin from outside, which is booked before
 * the fee.
 */
function withFoundCoin(
  booking: TreasuryBooking | null,
  data: MoveCompleted | MoveFailed,
  heldAt: HeldAt,
): TreasuryBooking | null {
  const place = feePlace(data);
  const spent = booking?.draft.postings.find(
    ({ account, coin, address }) => account === DEPOSIT_WALLETS && coin === place.coin && address === place.address,
  );
  const lacking = spent === undefined ? 0n : -spent.units - (heldAt(place) ?? 0n);
  if (!booking || lacking <= 0n) return booking;
  return { ...booking, before: { ...booking.draft, kind: 'native_coin_found', postings: foundCoin(place, lacking) } };
}

function booked(kind: EntryKind, data: MoveCompleted): TreasuryBooking {
  const { mode, network, moveId, merchantId, txHash, blockNumber, blockHash, blockTimeSec } = data;
  return {
    mode,
    moveId,
    ...(merchantId !== null && { merchantId }),
    draft: {
      kind,
      // The sender of unsolicited native coin pays for its return.
      postings: [
        ...transfer(kind, data),
        ...fee(kind, data, data.networkFee, kind === 'native_coin_returned' ? SUSPENSE : NETWORK_FEES),
      ],
      chainTimeSec: blockTimeSec,
      evidence: { network, txHash, blockNumber, blockHash },
    },
  };
}

function transfer(
  kind: EntryKind,
  { network, coin, amount, fromAddress, toAddress, merchantId }: MoveCompleted,
): Posting[] {
  const units = amountOf(amount);
  const line = (account: string, signed: bigint, address?: string): Posting => ({
    account,
    network,
    coin,
    units: signed,
    ...(address && { address }),
  });
  switch (kind) {
    case 'sweep':
      return [line(TREASURY, units, toAddress), line(DEPOSIT_WALLETS, -units, fromAddress)];
    case 'gas_top_up':
      return [line(DEPOSIT_WALLETS, units, toAddress), line(TREASURY, -units, fromAddress)];
    case 'nonce_account':
      return [line(NETWORK_FEES, units), line(TREASURY, -units, fromAddress)];
    case 'withdrawal':
      return [line(COLD_STORAGE, units, toAddress), line(TREASURY, -units, fromAddress)];
    case 'settlement':
      if (merchantId === null) throw new Error('a settlement without a merchant');
      return [line(payableTo(merchantId), units), line(TREASURY, -units, fromAddress)];
    case 'transfer_returned':
      return [line(UNMATCHED, units), line(TREASURY, -units, fromAddress)];
    case 'native_coin_returned':
      return [line(SUSPENSE, units), line(TREASURY, -units, fromAddress)];
    default:
      throw new Error(`${kind} moves no money of the treasury`);
  }
}

/**
 * The account whose native coin paid the fee: the treasury, or the collection address that received a top-up for its
 * sweep.
 */
function fee(kind: EntryKind, data: MoveCompleted | MoveFailed, amount: string, charged = NETWORK_FEES): Posting[] {
  const { network, feeCoin: coin, feeAddress, fromAddress } = data;
  const units = amountOf(amount);
  if (units === 0n) return [];
  const payer = kind === 'sweep' && feeAddress === fromAddress ? DEPOSIT_WALLETS : TREASURY;
  return [
    { account: charged, network, coin, units },
    { account: payer, network, coin, units: -units, address: feeAddress },
  ];
}

/** A transaction without effect still costs its fee. */
function feeOnly(kind: EntryKind, data: MoveFailed): TreasuryBooking | null {
  const { mode, network, moveId, txHash, networkFee } = data;
  const postings = networkFee === null ? [] : fee(kind, data, networkFee);
  if (postings.length === 0) return null;
  return {
    mode,
    moveId,
    draft: { kind: 'failed_move', postings, ...(txHash !== null && { evidence: { network, txHash } }) },
  };
}

function funded({
  mode,
  network,
  coin,
  amount,
  address,
  txHash,
  logIndex,
  blockNumber,
}: EventOf<'TreasuryFunded'>['data']): TreasuryBooking {
  const units = amountOf(amount);
  const evidence = txHash === null ? null : { network, txHash, blockNumber, ...(logIndex !== null && { logIndex }) };
  return {
    mode,
    draft: {
      kind: 'treasury_funded',
      postings: [
        { account: TREASURY, network, coin, units, address },
        { account: OPERATOR_FUNDING, network, coin, units: -units },
      ],
      ...(evidence && { evidence }),
    },
  };
}

function found(data: EventOf<'NativeCoinFound'>['data']): TreasuryBooking {
  const { mode, amount, sessionId } = data;
  return { mode, sessionId, draft: { kind: 'native_coin_found', postings: foundCoin(data, amountOf(amount)) } };
}

const foundCoin = ({ network, coin, address }: AddressAndCoin, units: bigint): Posting[] => [
  { account: DEPOSIT_WALLETS, network, coin, units, address },
  { account: SUSPENSE, network, coin, units: -units },
];

/** Writes off lost money once an operator has acknowledged the loss. */
function writtenOff(data: EventOf<'UnknownOutflowAcknowledged'>['data'], heldAt: HeldAt): TreasuryBooking | null {
  const { mode, network, coin, amount, address, txHash, blockNumber } = data;
  if (coin === null || amount === null) return null;
  const units = amountOf(amount);
  const evidence = txHash === null ? null : { network, txHash, ...(blockNumber !== null && { blockNumber }) };
  return {
    mode,
    draft: {
      kind: 'outflow_written_off',
      postings: [
        { account: UNKNOWN_OUTFLOWS, network, coin, units },
        {
          account: heldAt({ mode, network, coin, address }) === null ? TREASURY : DEPOSIT_WALLETS,
          network,
          coin,
          units: -units,
          address,
        },
      ],
      ...(evidence && { evidence }),
    },
  };
}
