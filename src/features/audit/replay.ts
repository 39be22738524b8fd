import type { DomainEvent } from '../../domain/events/domain-event.ts';
import type { SessionCreated } from '../../domain/events/session-events.ts';
import { addressFamilyOf } from '../../domain/networks/networks.ts';
import { addressKey } from '../../../projections/addresses/address-index.projection.ts';
import {
  ADJUSTMENTS_PREFIX,
  DELIVERY_PREFIX,
  MERCHANT_PREFIX,
  PAYMENT_LINK_PREFIX,
  PERSON_PREFIX,
  SESSION_PREFIX,
  TRANSFER_PREFIX,
  TREASURY_PREFIX,
} from '../../domain/values/streams.ts';
import { decodeEvent } from '../../runtime/commands/codec.ts';
import type { RecordedEvent } from '../../ports/event-log/event-store.ts';
import { KeyedMemoryFailed, type KeyedMemory, type MakeKeyedMemory } from '../../ports/read-model/keyed-memory.ts';
import type { MachineState, MachineTable } from '../../runtime/commands/machine-table.ts';
import { LedgerAgain } from './ledger.ts';
import { adjustmentsTable } from '../shared/handlers/adjustments-handler.ts';
import { merchantTable } from '../shared/handlers/merchant-handler.ts';
import { paymentLinkTable } from '../shared/handlers/payment-link-handler.ts';
import { treasuryTable } from '../shared/handlers/treasury-handler.ts';
import { sessionTable } from '../shared/handlers/session-handler.ts';
import { personTable } from '../shared/handlers/person-handler.ts';
import { transferTable } from '../shared/handlers/transfer-handler.ts';
import { deliveryTable } from '../shared/handlers/delivery-handler.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

type AnyTable = MachineTable<string, unknown, DomainEvent>;
type AnyState = MachineState<string, unknown>;

/** For one who gives a table only the states and events of its own streams. */
const anyTable = (table: unknown): AnyTable => table as AnyTable;

/** The machines by stream prefix. Other streams have no life cycle. */
const TABLES: readonly (readonly [prefix: string, table: AnyTable])[] = [
  [SESSION_PREFIX, anyTable(sessionTable)],
  [MERCHANT_PREFIX, anyTable(merchantTable)],
  [DELIVERY_PREFIX, anyTable(deliveryTable)],
  [TREASURY_PREFIX, anyTable(treasuryTable)],
  [TRANSFER_PREFIX, anyTable(transferTable)],
  [PERSON_PREFIX, anyTable(personTable)],
  [ADJUSTMENTS_PREFIX, anyTable(adjustmentsTable)],
  [PAYMENT_LINK_PREFIX, anyTable(paymentLinkTable)],
];

/**
 * Replays every stream through its machine, which accepts only legal histories, and checks across streams that no two
 * sessions share an address.
 */
export class StreamHistories {
  readonly #states: KeyedMemory<AnyState>;
  readonly #sessionOfAddress: KeyedMemory<string>;

  constructor(memory: MakeKeyedMemory) {
    this.#states = memory();
    this.#sessionOfAddress = memory();
  }

  close(): void {
    this.#states.close();
    this.#sessionOfAddress.close();
  }

  /** Why the event is impossible; null if it is legal. Events of one stream must come in order. */
  take(recorded: RecordedEvent): string | null {
    const table = TABLES.find(([prefix]) => recorded.stream.startsWith(prefix))?.[1];
    try {
      const { event } = decodeEvent(recorded);
      if (!table) return null;
      const state = this.#states.get(recorded.stream) ?? table.initial;
      const next = table.next(state, event);
      if (!next) return `history is not legal: ${event.type} is not legal in ${state.value}`;
      this.#states.set(recorded.stream, next);
      return event.type === 'SessionCreated' ? this.#givenOutTwice(event.data) : null;
    } catch (error) {
      return unreadable(error);
    }
  }

  /**
   * An address of two sessions leaves open whose money it holds, so every consumer of the event log rejects such an
   * event.
   */
  #givenOutTwice({ mode, sessionId, paymentOptions }: SessionCreated['data']): string | null {
    for (const { network, address } of paymentOptions) {
      const key = addressKey(mode, addressFamilyOf(network), address);
      const holder = this.#sessionOfAddress.get(key);
      if (holder !== undefined && holder !== sessionId)
        return `history is not legal: the address ${address} was given to session ${holder} before`;
      if (holder === undefined) this.#sessionOfAddress.set(key, sessionId);
    }
    return null;
  }
}

function unreadable(error: unknown): string {
  if (error instanceof KeyedMemoryFailed) throw error;
  return `it cannot be read: ${messageOf(error)}`;
}

/** Replays every stream and recomputes the books. */
export class HistoryReplay {
  readonly #histories: StreamHistories;
  readonly #ledger: LedgerAgain;

  constructor(memory: MakeKeyedMemory) {
    this.#histories = new StreamHistories(memory);
    this.#ledger = new LedgerAgain(memory);
  }

  /** Number of closed months whose figures were compared. */
  get closedMonths(): number {
    return this.#ledger.closedMonths;
  }

  close(): void {
    this.#histories.close();
    this.#ledger.close();
  }

  /** Why the event is impossible; null if it is legal. Events of one stream must come in order. */
  async take(recorded: RecordedEvent): Promise<string | null> {
    const fault = this.#histories.take(recorded);
    if (fault !== null) return fault;
    try {
      return await this.#ledger.take(decodeEvent(recorded));
    } catch (error) {
      return unreadable(error);
    }
  }
}
