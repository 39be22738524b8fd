import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { SessionId } from '../../src/domain/values/ids.ts';
import { amountOf, formatAmount, isCoin, type Coin } from '../../src/domain/money/money.ts';
import { addressFamilyOf, comparableAddress, type Network } from '../../src/domain/networks/networks.ts';
import { sessionOfStream } from '../../src/domain/values/streams.ts';
import type { Projection, RowReader, RowRef } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';

/** Final money at collection addresses, by network and address; an address without any has no row. */
export const COLLECTED_TABLE: Table<CollectedRow> = 'collected@1';
/** The amount of each deposit that is not reverted, by deposit key. */
const DEPOSITS_TABLE: Table<DepositRow> = 'collected-deposits@1';

export type CollectedRow = {
  /** Empty for money whose deposit is unknown. */
  readonly sessionId: SessionId | '';
  readonly network: Network;
  readonly address: string;
  /** Decimal strings by coin. */
  readonly coins: Readonly<Partial<Record<Coin, string>>>;
};

type DepositRow = {
  readonly key: string;
  readonly sessionId: SessionId | '';
  readonly network: Network;
  readonly address: string;
  readonly coin: Coin;
  readonly amount: string;
};

export const collectedKey = (network: Network, address: string): string =>
  `${network}/${comparableAddress(addressFamilyOf(network), address)}`;

export const collected: Projection = {
  name: 'collected',
  version: 1,
  streamPrefixes: ['session-', 'treasury-'],
  tables: [COLLECTED_TABLE, DEPOSITS_TABLE],
  lists: [],
  needs,
  needsThen: ({ event }, read) => {
    const deposit =
      event.type === 'DepositConfirmed' || event.type === 'DepositReverted'
        ? read(DEPOSITS_TABLE, event.data.depositKey)
        : null;
    return deposit ? [{ table: COLLECTED_TABLE, key: deposit.key }] : [];
  },
  apply,
};

function needs({ event }: StoredEvent<DomainEvent>): RowRef[] {
  switch (event.type) {
    case 'DepositConfirmed':
    case 'DepositReverted':
      return [{ table: DEPOSITS_TABLE, key: event.data.depositKey }];
    case 'SweepCompleted':
      return [{ table: COLLECTED_TABLE, key: collectedKey(event.data.network, event.data.fromAddress) }];
    default:
      return [];
  }
}

function apply({ stream, event }: StoredEvent<DomainEvent>, read: RowReader): RowChange[] {
  switch (event.type) {
    case 'DepositDetected': {
      const { depositKey, network, toAddress: address, coin, amount } = event.data;
      const row: DepositRow = {
        key: collectedKey(network, address),
        sessionId: sessionOfStream(stream) ?? '',
        network,
        address,
        coin,
        amount,
      };
      return [putRow(DEPOSITS_TABLE, depositKey, row)];
    }
    case 'DepositConfirmed': {
      const deposit = read(DEPOSITS_TABLE, event.data.depositKey);
      return deposit ? [changed(deposit, read, amountOf(deposit.amount))] : [];
    }
    case 'DepositReverted': {
      const deposit = read(DEPOSITS_TABLE, event.data.depositKey);
      const gone: RowChange = { op: 'delete', table: DEPOSITS_TABLE, key: event.data.depositKey };
      return deposit && event.data.afterFinal ? [gone, changed(deposit, read, -amountOf(deposit.amount))] : [gone];
    }
    case 'SweepCompleted': {
      const { network, fromAddress: address, coin, amount } = event.data;
      if (!isCoin(coin)) return [];
      const key = collectedKey(network, address);
      return [changed({ key, sessionId: '', network, address, coin, amount }, read, -amountOf(amount))];
    }
    default:
      return [];
  }
}

function changed({ key, sessionId, network, address, coin }: DepositRow, read: RowReader, by: bigint): RowChange {
  const before = read(COLLECTED_TABLE, key);
  const units = signedAmount(before?.coins[coin] ?? '0') + by;
  const coins = { ...before?.coins, [coin]: formatAmount(units) };
  if (Object.values(coins).every((amount) => signedAmount(amount) === 0n))
    return { op: 'delete', table: COLLECTED_TABLE, key };
  const row: CollectedRow = {
    sessionId: before?.sessionId ?? sessionId,
    network,
    address: before?.address ?? address,
    coins,
  };
  return putRow(COLLECTED_TABLE, key, row);
}

/** Negative if a deposit was reverted after its money had been swept. */
export const signedAmount = (text: string): bigint =>
  text.startsWith('-') ? -amountOf(text.slice(1)) : amountOf(text);
