import { addressIndex } from '../../projections/address-index.projection.ts';
import { collected } from '../../projections/collected.projection.ts';
import { depositsByBlock } from '../../projections/deposits-by-block.projection.ts';
import { inbox } from '../../projections/inbox.projection.ts';
import { ledger } from '../../projections/ledger.projection.ts';
import { merchantDirectory } from '../../projections/merchant-directory.projection.ts';
import { openPayouts } from '../../projections/open-payouts.projection.ts';
import { sessionView } from '../../projections/session-view.projection.ts';
import { webhookDeliveries } from '../../projections/webhook-deliveries.projection.ts';

/** The projections of the read side; each rebuilds from the ledger alone. */
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
] as const;
