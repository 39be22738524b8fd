import { addressIndex } from '../../projections/addresses/address-index.projection.ts';
import { collected } from '../../projections/treasury/collected.projection.ts';
import { depositsByBlock } from '../../projections/deposits/deposits-by-block.projection.ts';
import { inbox } from '../../projections/unmatched/unmatched.projection.ts';
import { ledger } from '../../projections/ledger/ledger.projection.ts';
import { merchantDirectory } from '../../projections/merchants/merchant-directory.projection.ts';
import { openPayouts } from '../../projections/payouts/open-payouts.projection.ts';
import { sessionView } from '../../projections/sessions/session-view.projection.ts';
import { webhookDeliveries } from '../../projections/webhooks/deliveries.projection.ts';

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
