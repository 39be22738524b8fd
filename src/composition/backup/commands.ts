import { InvalidConfig, type Config } from '../../config.ts';
import { actorOf } from '../../operator/acts.ts';
import { CommandRefused, json, optionalText, requiredText, type AdminArguments } from '../../operator/commands.ts';
import { systemClock } from '../../ports/clock.ts';
import type { JsonValue } from '../../ports/read-model.ts';
import { journalDirectory } from '../payouts.ts';
import { namesKeys, sealingKeysOrFault } from '../sealing-keys.ts';
import { makeBackup, type BackupPart } from './make.ts';
import { restoreBackup } from './restore.ts';
import { verifyBackup } from './verify.ts';

/** `quittance backup`, `backup verify` and `restore`: on files, whether a service runs or not. Throws `CommandRefused`. */
export async function runBackupCommand(config: Config, command: string, args: AdminArguments): Promise<JsonValue> {
  const places = { dataDir: config.DATA_DIR, signerDirectory: journalDirectory(config) };
  const sealingKeys = namesKeys(config) ? sealingKeysOrFault(config) : null;
  switch (command) {
    case 'backup.make': {
      const only = partOf(args, config);
      return json(await makeBackup(places, requiredText(args, 'to'), only, systemClock.nowMs()));
    }
    case 'backup.verify':
      return json((await verifyBackup(requiredText(args, 'folder'), sealingKeys)).report);
    case 'backup.restore': {
      const [from, only, actor] = [requiredText(args, 'from'), partOf(args, config), actorOf(args)];
      return json(await restoreBackup(places, { from, only, actor, sealingKeys, moveAside: args['moveAside'] === true }));
    }
    default:
      throw new CommandRefused(`there is no command ${command}`);
  }
}

function partOf(args: AdminArguments, config: Config): BackupPart | undefined {
  const only = optionalText(args, 'only');
  if (only !== undefined && only !== 'data' && only !== 'signer') throw new CommandRefused('only must be data or signer');
  if (config.EVENTSTORE_URL !== undefined && only !== 'signer')
    throw new InvalidConfig('EVENTSTORE_URL: the ledger is on servers, which have backups of their own (docs/runbook.md); name --only signer here');
  return only;
}
