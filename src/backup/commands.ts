import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidConfig, type Config } from '../config.ts';
import { actorOf } from '../operator/server/acts.ts';
import { CommandRefused, json, optionalText, requiredText, type AdminArguments } from '../operator/server/commands.ts';
import { systemClock } from '../ports/clock.ts';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import { journalDirectory } from '../settings/journal-directory.ts';
import { authenticationKeys, namesKeys, sealingKeysOrFault } from '../settings/sealing-keys.ts';
import { makeBackup, type BackupPart } from './make.ts';
import { fetchShipped } from './fetch-shipped.ts';
import { restoreBackup } from './restore.ts';
import { shippedPlace } from './shipping-place.ts';
import { verifyBackup } from './verify.ts';

/**
 * `quittance backup`, `backup verify` and `restore`: on files, with or without a running service. Throws
 * `CommandRefused`.
 */
export async function runBackupCommand(config: Config, command: string, args: AdminArguments): Promise<JsonValue> {
  const places = {
    dataDir: config.DATA_DIR,
    signerDirectory: journalDirectory(config),
    isSignerElsewhere: config.SIGNER_SOCKET !== undefined,
  };
  const sealingKeys = namesKeys(config) ? sealingKeysOrFault(config) : null;
  switch (command) {
    case 'backup.make': {
      const only = partOf(args, config);
      return json(await makeBackup(places, requiredText(args, 'to'), only, systemClock.nowMs()));
    }
    case 'backup.verify':
      return withFolder(requiredText(args, 'folder'), config, async (folder) =>
        json((await verifyBackup(folder, sealingKeys)).report),
      );
    case 'backup.restore': {
      const [only, actor] = [partOf(args, config), actorOf(args)];
      return withFolder(requiredText(args, 'from'), config, async (from) =>
        json(await restoreBackup(places, { from, only, actor, sealingKeys, moveAside: args['moveAside'] === true })),
      );
    }
    default:
      throw new CommandRefused(`there is no command ${command}`);
  }
}

/** An existing backup folder, or one made from a shipped log for the duration of the command. */
async function withFolder(
  named: string,
  config: Config,
  work: (folder: string) => Promise<JsonValue>,
): Promise<JsonValue> {
  const shipped = shippedPlace(named, config);
  if (!shipped) return work(named);
  const scratch = mkdtempSync(join(tmpdir(), 'quittance-shipped-'));
  try {
    await fetchShipped(shipped, authenticationKeys(sealingKeysOrFault(config)), scratch);
    return await work(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function partOf(args: AdminArguments, config: Config): BackupPart | undefined {
  const only = optionalText(args, 'only');
  if (only !== undefined && only !== 'data' && only !== 'signer')
    throw new CommandRefused('only must be data or signer');
  if (config.EVENTSTORE_URL !== undefined && only !== 'signer')
    throw new InvalidConfig(
      'EVENTSTORE_URL: the event log is on servers with their own backups (docs/runbook.md); use --only signer here',
    );
  return only;
}
