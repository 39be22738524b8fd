import type { Metrics } from '../../observability/metrics/metrics.ts';
import { reportShipping } from '../../observability/metrics/backup.ts';
import { journalDirectory } from '../../settings/journal-directory.ts';
import type { ServiceParts } from '../service-parts.ts';
import { LogShipping } from '../../backup/ship-log.ts';
import { shippingPlace } from '../../backup/shipping-place.ts';
import { authenticationKeys } from '../../settings/sealing-keys.ts';

/** Null if nothing is shipped. A damaged log is not shipped, because the copy may be needed to restore it. */
export function startLogShipping(
  { config, storage, sealingKeys, clock, log, readOnly }: ServiceParts,
  { registry }: Metrics,
): LogShipping | null {
  const objects = shippingPlace(config);
  if (!objects || !storage.ownLog || readOnly) return null;
  const shipping = new LogShipping({
    ...{ objects, keys: authenticationKeys(sealingKeys), store: storage.store, clock, log },
    dataDir: config.DATA_DIR,
    signerDirectory: journalDirectory(config),
    everyMs: config.LOG_SHIPPING_EVERY_SECONDS * 1000,
  });
  reportShipping(registry, () => shipping.ageSec());
  shipping.start();
  return shipping;
}
