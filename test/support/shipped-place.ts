import { runBackupCommand } from '../../src/backup/commands.ts';
import { readConfig } from '../../src/config.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderObjects } from '../../src/adapters/node/folder-objects.ts';
import { objectsBeside, SHIPPED_MARK } from '../../src/backup/shipped-mark.ts';
import { authenticationKeys } from '../../src/settings/sealing-keys.ts';
import type { ObjectStore } from '../../src/ports/event-log/object-store.ts';
import { parseMasterKeys } from '../../src/runtime/cryptography/sealing.ts';

export const SHIPPING_MASTER_KEY = 'a1'.repeat(31) + 'b2';
export const SHIPPING_KEYS = authenticationKeys(parseMasterKeys(SHIPPING_MASTER_KEY));

/** The content of a shipped log in a folder. */
export const openedPlace = (place: string): ObjectStore =>
  objectsBeside(readFileSync(join(place, SHIPPED_MARK)), folderObjects(place), SHIPPING_KEYS);

/** `quittance backup ...` over shipped data, by an operator who has the master key. */
export const runOnPlace = async (command: string, args: object, env: object): Promise<Record<string, unknown>> =>
  (await runBackupCommand(readConfig({ MASTER_KEY: SHIPPING_MASTER_KEY, ...env }), command, { ...args })) as Record<
    string,
    unknown
  >;
