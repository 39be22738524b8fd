import { adminCommands } from '../../operator/merchants/merchants.ts';
import { addressCommands } from '../../operator/merchants/addresses.ts';
import { sealingKeyCommands } from '../../operator/sealing-keys.ts';
import { auditCommands } from '../../operator/books/audit.ts';
import { canaryCommands } from '../../operator/chains/canary.ts';
import { chainCommands } from '../../operator/chains/chains.ts';
import { payoutCommands } from '../../operator/treasury/payouts.ts';
import { givenAddress } from '../networks/given-address.ts';
import { snapshotCommands } from '../../look-ups/snapshots/snapshots.ts';
import { compareCommands } from '../../look-ups/compare.ts';
import { adjustmentCommands } from '../../operator/books/adjustments.ts';
import { paymentTotalsCommands } from '../../operator/merchants/payment-totals.ts';
import { evidenceCommands } from '../../operator/books/documents.ts';
import { statementCommands } from '../../operator/books/statement.ts';
import { takeOverCommands } from '../../operator/treasury/take-over.ts';
import { treasuryCommands } from '../../operator/treasury/treasury.ts';
import { settingsCommands } from '../../operator/settings.ts';
import { webhookCommands } from './webhooks.ts';
import { Lists } from '../../features/sessions/lists/lists.ts';
import { paymentTotals } from '../../features/sessions/lists/payment-totals.ts';
import { sessionView } from '../../../projections/sessions/session-view.projection.ts';
import { indexKey } from '../../features/addresses/address-index.ts';
import type { MerchantId } from '../../domain/values/ids.ts';
import { addressFamilyOf } from '../../domain/networks/networks.ts';
import { nativeHeldBy } from '../../features/treasury/native-held.ts';
import type { Treasury } from '../../features/treasury/treasury.ts';
import type { RunningAudit } from '../../features/audit/running-audit.ts';
import { AuditRecords } from '../../features/audit/records.ts';
import type { AdminCommands } from '../../operator/server/commands.ts';
import type { Ledger } from '../money/ledger.ts';
import type { RunningSettings } from './live-settings.ts';
import type { Foundation } from '../service-foundation.ts';
import type { MovingMoney } from '../service-money.ts';
import type { ServiceParts } from '../service-parts.ts';
import { must } from '../../domain/values/must.ts';

/** The operator's commands on all running parts. */
export function operatorCommands(
  parts: ServiceParts,
  foundation: Foundation,
  { testWallet, watched, payouts, webhooks }: MovingMoney,
  {
    audit,
    ledger,
    settings,
  }: { readonly audit: RunningAudit; readonly ledger: Ledger; readonly settings: RunningSettings },
) {
  const { core, store, projections, addresses, metrics } = foundation;
  const records = new AuditRecords({ store, tree: audit.tree, verifierKey: audit.verifierKey });
  return adminCommands({
    core,
    store,
    clock: parts.clock,
    random: parts.random,
    testWallet,
    projections,
    nativeHeld: (id) => nativeHeldBy({ sessions: core.sessionHandler, readModel: parts.storage.readModel }, id),
    ...(payouts && { waitingFor: (refundId: string) => payouts.waitingFor(refundId) }),
    more: {
      ...webhookCommands(core, webhooks.api, parts.random),
      ...addressCommands(addresses),
      ...chainCommands(
        watched,
        store,
        ({ mode, network }, address) =>
          core.addressIndexes.get(indexKey(mode, addressFamilyOf(network)))?.isOurs(address) ?? false,
        ({ mode, network }) =>
          metrics.chains.providers
            .filter((one) => one.mode === mode && one.network === network)
            .flatMap(({ pool }) => pool.status()),
      ),
      ...auditCommands(audit, store),
      ...statementCommands({ records, closingOf: ledger.closingOf }),
      ...evidenceCommands({
        records,
        store,
        statements: ledger.statements,
        signNow: audit.sequencer && (() => must(audit.sequencer).signNow()),
      }),
      ...sealingKeyCommands({ store, sealingKeys: parts.sealingKeys, clock: parts.clock, random: parts.random }),
      ...compareCommands(parts.storage.comparison),
      ...snapshotCommands(parts.storage.snapshots),
      ...listCommands(parts, foundation),
      ...canaryCommands(store),
      ...settingsCommands(settings, { store, clock: parts.clock, random: parts.random }, (facts, message) =>
        parts.log.warn(facts, message),
      ),
      ...ledger.commands,
      ...adjustmentCommands({
        adjustmentsHandler: core.adjustmentsHandler,
        store,
        signer: parts.payouts?.signer ?? null,
        modeOfMerchant: (id) => core.directory.settings(id)?.mode ?? null,
        clock: parts.clock,
        random: parts.random,
      }),
      ...outflowCommands(parts, { core, store }, payouts),
      ...parts.moreAdmin?.(core),
    },
  });
}

/** Commands that read the rows of payments. */
function listCommands({ storage: { readModel } }: ServiceParts, { core, servedRows }: Foundation): AdminCommands {
  const served = servedRows(sessionView);
  const lists = new Lists({ readModel, cursorKey: core.cursorKey, metadataIndex: null });
  const modeOfMerchant = (id: MerchantId) => core.directory.settings(id)?.mode ?? null;
  return {
    ...paymentTotalsCommands({
      totals: async (owner, asked) => {
        await served();
        return paymentTotals({ readModel, lists }, owner, asked);
      },
      modeOfMerchant,
    }),
  };
}

/** Commands about outgoing money. */
export function outflowCommands(
  { payouts: parts, clock, random }: ServiceParts,
  { core, store }: Pick<Foundation, 'core' | 'store'>,
  payouts: MovingMoney['payouts'],
): AdminCommands {
  if (!parts || !payouts) return {};
  const ofRefunds = payoutCommands(payouts, parts, core);
  const treasury = (): Treasury => payouts.treasury;
  const ofTreasury = { treasury, payouts: parts, core, store, clock, random, ofRefunds, givenAddress };
  return {
    ...ofRefunds,
    ...treasuryCommands(ofTreasury),
    ...takeOverCommands({ ...ofTreasury, refunds: payouts, sessionOfRefund: (id) => core.sessionOfRefund(id) }),
  };
}
