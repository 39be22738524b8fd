import { fileOperators } from '../../src/adapters/node/operators-file.ts';
import type { Operators } from '../../src/ports/people/operators.ts';
import { parseMasterKeys } from '../../src/runtime/cryptography/sealing.ts';
import { sandboxMasterKey } from '../../src/sandbox/master-key.ts';
import { authenticationKeys } from '../../src/settings/sealing-keys.ts';

/** The operators of a sandbox, which need not have been started. */
export const operatorsOf = (dataDir: string): Operators =>
  fileOperators(dataDir, () => authenticationKeys(parseMasterKeys(sandboxMasterKey(dataDir))));
