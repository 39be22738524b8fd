import { addressIndex } from '../../projections/addresses/address-index.projection.ts';
import { collected } from '../../projections/treasury/collected.projection.ts';
import { depositsByBlock } from '../../projections/deposits/deposits-by-block.projection.ts';
import { inbox } from '../../projections/unmatched/unmatched.projection.ts';
import { ledger } from '../../projections/ledger/ledger.projection.ts';
import { merchantDirectory } from '../../projections/merchants/merchant-directory.projection.ts';
import { paymentLinks } from '../../projections/payment-links/payment-links.projection.ts';
import { openPayouts } from '../../projections/payouts/open-payouts.projection.ts';
import { sessionView } from '../../projections/sessions/session-view.projection.ts';
import { webhookDeliveries } from '../../projections/webhooks/deliveries.projection.ts';
import { webhookWork } from '../../projections/webhooks/work.projection.ts';
import type { Projection } from '../ports/read-model/projection.ts';
import { projectionId } from '../runtime/projections/batch.ts';
import type { Roles } from '../settings/roles.ts';

/** The projections of the read model; each can be rebuilt from the event log alone. */
export const PROJECTIONS = [
  sessionView,
  addressIndex,
  merchantDirectory,
  depositsByBlock,
  openPayouts,
  collected,
  webhookDeliveries,
  ledger,
  inbox,
  paymentLinks,
] as const;

const ROLES: readonly (keyof Roles)[] = ['api', 'worker', 'signer'];

/** What the processes of each role read, if several follow one event log. */
const READ_BY: Readonly<Record<keyof Roles, readonly Projection[]>> = {
  api: [sessionView, addressIndex, webhookDeliveries, ledger, inbox, paymentLinks],
  worker: [sessionView, addressIndex, depositsByBlock, webhookDeliveries, webhookWork, ledger, inbox],
  signer: [sessionView, addressIndex, depositsByBlock, openPayouts, collected, ledger, inbox],
};

/** The projections of a process with these roles. */
export const projectionsOf = (roles: Roles): Projection[] => [
  ...new Set(ROLES.filter((role) => roles[role]).flatMap((role) => READ_BY[role])),
];

const ALL: readonly Projection[] = [...PROJECTIONS, webhookWork];

/** The projections with these ids, in order. */
export const projectionsNamed = (ids: readonly string[]): Projection[] =>
  ALL.filter((projection) => ids.includes(projectionId(projection)));
