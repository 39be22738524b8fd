import type { DomainEvent } from '../../src/domain/events/domain-event.ts';
import type { StoredEvent } from '../../src/domain/events/envelope.ts';
import type { MerchantId, Mode, PaymentLinkId } from '../../src/domain/values/ids.ts';
import { PAYMENT_LINK_PREFIX } from '../../src/domain/values/streams.ts';
import type { Projection } from '../../src/ports/read-model/projection.ts';
import { putRow, type RowChange, type Table } from '../../src/ports/read-model/read-model.ts';

/** The payment links of each merchant; their own streams decide what they may do. */
export const PAYMENT_LINKS_TABLE: Table<{ readonly linkId: PaymentLinkId }> = 'payment-links@1';

/** Prefix of every key of a merchant. */
export const linksOfMerchant = (mode: Mode, merchantId: MerchantId): string => `${mode}/${merchantId}/`;

/** Later than any time: keys count down from it, so that the newest comes first. */
const LAST_SEC = 9_999_999_999;

export const paymentLinks: Projection = {
  name: 'payment-links',
  version: 1,
  streamPrefixes: [PAYMENT_LINK_PREFIX],
  tables: [PAYMENT_LINKS_TABLE],
  lists: [],
  needs: () => [],
  apply,
};

function apply({ event }: StoredEvent<DomainEvent>): RowChange[] {
  if (event.type !== 'PaymentLinkCreated') return [];
  const { mode, merchantId, linkId, createdAtSec } = event.data;
  const age = String(LAST_SEC - createdAtSec).padStart(String(LAST_SEC).length, '0');
  return [putRow(PAYMENT_LINKS_TABLE, `${linksOfMerchant(mode, merchantId)}${age}/${linkId}`, { linkId })];
}
