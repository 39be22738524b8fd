import type { AdjustmentEvent } from './adjustment-events.ts';
import type { BookRatesRecorded } from './book-rate-events.ts';
import type { DeliveryEvent } from './delivery-events.ts';
import type { DocumentEvent } from './document-events.ts';
import type { MerchantEvent } from './merchant-events.ts';
import type { OperationsEvent } from './operations-events.ts';
import type { PaymentLinkEvent } from './payment-link-events.ts';
import type { PersonEvent } from './person-events.ts';
import type { SessionEvent } from './session-events.ts';
import type { TransferEvent } from './transfer-events.ts';
import type { TreasuryEvent } from './treasury-events.ts';

/** Every type of event in the event log. */
export type DomainEvent =
  | SessionEvent
  | MerchantEvent
  | DeliveryEvent
  | OperationsEvent
  | TreasuryEvent
  | TransferEvent
  | PersonEvent
  | AdjustmentEvent
  | PaymentLinkEvent
  | DocumentEvent
  | BookRatesRecorded;
export type DomainEventType = DomainEvent['type'];
export type EventOf<Type extends DomainEventType> = Extract<DomainEvent, { type: Type }>;
