import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { Mode, SessionId } from '../../src/domain/values/ids.ts';
import { addressFamilyOf, comparableAddress, type AddressFamily } from '../../src/domain/networks/networks.ts';
import type { Projection } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';

/** The session of every collection address ever assigned, including those of closed sessions. */
export const ADDRESSES_TABLE: Table<AddressRow> = 'addresses@1';

export type AddressRow = { readonly sessionId: SessionId; readonly derivationIndex: number };

export const addressKey = (mode: Mode, family: AddressFamily, address: string): string =>
  `${mode}/${family}/${comparableAddress(family, address)}`;

export const addressIndex: Projection = {
  name: 'address-index',
  version: 1,
  streamPrefixes: ['session-'],
  tables: [ADDRESSES_TABLE],
  lists: [],
  needs: () => [],
  apply,
};

function apply({ event }: StoredEvent<DomainEvent>): RowChange[] {
  if (event.type !== 'SessionCreated') return [];
  const { mode, sessionId, paymentOptions } = event.data;
  const byKey = new Map(
    paymentOptions.map(({ network, address, derivationIndex }) => [
      addressKey(mode, addressFamilyOf(network), address),
      { sessionId, derivationIndex } satisfies AddressRow,
    ]),
  );
  return [...byKey].map(([key, row]) => putRow(ADDRESSES_TABLE, key, row));
}
