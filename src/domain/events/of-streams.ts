import {
  ADJUSTMENTS_PREFIX,
  DELIVERY_PREFIX,
  MERCHANT_PREFIX,
  PERSON_PREFIX,
  SESSION_PREFIX,
  TRANSFER_PREFIX,
  TREASURY_PREFIX,
} from '../values/streams.ts';
import type { AdjustmentEvent } from './adjustment-events.ts';
import type { DeliveryEvent } from './delivery-events.ts';
import type { DomainEvent } from './domain-event.ts';
import type { MerchantEvent } from './merchant-events.ts';
import type { PersonEvent } from './person-events.ts';
import type { SessionEvent } from './session-events.ts';
import type { TransferEvent } from './transfer-events.ts';
import type { TreasuryEvent } from './treasury-events.ts';

/*
 * The name of a stream determines which events it holds, since each state machine writes to its own streams. These
 * types tell the compiler so.
 */

interface InStream<Event extends DomainEvent> {
  readonly stream: string;
  readonly event: Event;
}

const within =
  <Event extends DomainEvent>(prefix: string) =>
  <Stored extends InStream<DomainEvent>>(stored: Stored): stored is Stored & InStream<Event> =>
    stored.stream.startsWith(prefix);

export const isOfSession = within<SessionEvent>(SESSION_PREFIX);
export const isOfMerchant = within<MerchantEvent>(MERCHANT_PREFIX);
export const isOfDelivery = within<DeliveryEvent>(DELIVERY_PREFIX);
export const isOfTreasury = within<TreasuryEvent>(TREASURY_PREFIX);
export const isOfTransfer = within<TransferEvent>(TRANSFER_PREFIX);
export const isOfAdjustments = within<AdjustmentEvent>(ADJUSTMENTS_PREFIX);
export const isOfPerson = within<PersonEvent>(PERSON_PREFIX);
