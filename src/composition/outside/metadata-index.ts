import { MetadataIndex } from '../../features/sessions/lists/metadata-index.ts';
import type { Foundation } from '../service-foundation.ts';
import type { ServiceParts } from '../service-parts.ts';

/**
 * Only where merchants are served; null elsewhere, and for a damaged log, from which nothing is built. Its key must
 * outlive the process, so it uses one shared by all nodes.
 */
export async function startMetadataIndex(
  { roles, readOnly, sealingKeys, storage, log }: ServiceParts,
  { core, store }: Foundation,
): Promise<MetadataIndex | null> {
  if (!roles.api || readOnly || !sealingKeys['personal-data'] || !sealingKeys['api-secrets']) return null;
  const index = new MetadataIndex({
    ...{ store, readModel: storage.readModel, personal: core.personal, key: core.cursorKey },
    onUnreadable: (session, err) =>
      log.error({ err, session }, 'personal data cannot be decrypted: the session is not found by its metadata'),
  });
  await index.start();
  return index;
}
