import { InvalidConfig, type Config } from '../../config.ts';
import { parseMasterKeys, type SealingKeys } from '../../runtime/cryptography/sealing.ts';
import { sandboxNamespace } from '../../sandbox/master-key.ts';
import { keptMasterKey } from '../../runtime/files/kept-master-key.ts';
import { namesKeys, sealingKeysOrFault } from '../../settings/sealing-keys.ts';

/**
 * For work on a data directory itself: a sandbox stores its own key and has a namespace on shared servers; production
 * supplies keys. Throws `InvalidConfig`.
 */
export function ownKeys(config: Config): { readonly sealingKeys: SealingKeys; readonly namespace: string } {
  if (namesKeys(config)) return { sealingKeys: sealingKeysOrFault(config), namespace: '' };
  const text = keptMasterKey(config.DATA_DIR);
  if (text !== null) return { sealingKeys: parseMasterKeys(text), namespace: sandboxNamespace(text) };
  throw new InvalidConfig(
    `no service runs on ${config.DATA_DIR}; to work on the data directory itself set MASTER_KEY, or start the service first`,
  );
}
