import type { HealthChecks } from '../../observability/health.ts';
import {
  reportClock,
  reportComparisons,
  reportOwnership,
  reportPayouts,
  reportSigner,
  reportTreasury,
} from '../../observability/metrics/parts.ts';
import { clockFacts, riskFacts } from '../../observability/service-health.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import { reportStoreCertificates } from '../../observability/metrics/store.ts';
import { ownershipFacts } from '../networks/address-ownership.ts';
import { reportBackups, type LastBackups } from '../../observability/metrics/backup.ts';
import { backedUpAtMs } from '../../runtime/files/backup-mark.ts';
import { startSignerHeartbeat, type SignerHeartbeat } from '../../observability/signer-heartbeat.ts';
import { comparisonHealth, treasuryHealth } from '../../observability/treasury-health.ts';
import type { Foundation } from '../service-foundation.ts';
import type { MovingMoney } from '../service-money.ts';
import type { ServiceParts } from '../service-parts.ts';
import type { Storage } from '../storage/parts.ts';

/* Which parts report their health and their metrics. */

export function watchPayoutsAndStorage(
  { storage }: ServiceParts,
  { metrics }: Foundation,
  { lookUps, payouts }: MovingMoney,
  health: HealthChecks,
): void {
  if (lookUps) health.add(lookUps.health);
  if (payouts) watchPayouts(payouts, health, metrics);
  health.add(() => storage.health());
  const { sharedLog } = storage;
  if (sharedLog) reportStoreCertificates(metrics.registry, () => sharedLog.certificates());
  if (storage.agreement) watchAgreement(storage.agreement, storage.snapshots, health, metrics);
}

/**
 * Monitors what the service relies on and does not control: the signer, the shipping place, the clock, and the
 * ownership of addresses.
 */
export function watchSurroundings(
  { config, clock, storage, checkpointSigner: signer, acceptedRisks, log }: ServiceParts,
  { metrics: { registry }, clockCheck, ownership, shipping }: Foundation,
  health: HealthChecks,
): SignerHeartbeat | null {
  const heartbeat = signer ? startSignerHeartbeat({ signer, log }) : null;
  if (heartbeat) {
    health.add(() => heartbeat.health());
    reportSigner(registry, () => heartbeat.isAlive());
  }
  const lastBackups: LastBackups = {
    ...(storage.ownLog && { data: () => backedUpAtMs(config.DATA_DIR) }),
    ...(heartbeat && { signer: () => heartbeat.backedUpAtMs() }),
  };
  reportBackups(registry, lastBackups, clock);
  if (acceptedRisks) health.add(() => riskFacts(acceptedRisks()));
  if (shipping) health.add(() => shipping.health());
  health.add(() => clockFacts(clockCheck.verdict()));
  reportClock(registry, () => clockCheck.verdict());
  health.add(() => ownershipFacts(ownership.status()));
  reportOwnership(registry, () => ownership.status());
  return heartbeat;
}

function watchAgreement(
  agreement: NonNullable<Storage['agreement']>,
  snapshots: Storage['snapshots'],
  health: HealthChecks,
  { registry, projections }: Metrics,
): void {
  health.add(() => agreement.health());
  projections.addAgreement(registry, agreement);
  agreement.start();
  snapshots?.start();
}

function watchPayouts(
  payouts: NonNullable<MovingMoney['payouts']>,
  health: HealthChecks,
  { registry }: Foundation['metrics'],
): void {
  health.add(() => [...treasuryHealth(payouts.status()), ...comparisonHealth(payouts.comparisons())]);
  reportPayouts(registry, () => payouts.status());
  reportTreasury(registry, () => payouts.balances());
  reportComparisons(registry, () => payouts.comparisons());
}
