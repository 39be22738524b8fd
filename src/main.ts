import { userInfo } from 'node:os';
import type { AdminArguments, AdminStream } from './operator/server/commands.ts';
import { callAdmin, NoService, streamAdmin } from './cli/admin-client.ts';
import { createProgram } from './cli/program.ts';
import type { CliHost } from './cli/host.ts';
import { systemFault } from './cli/system-fault.ts';
import { runUntilSignal } from './cli/run-until-signal.ts';
import { InvalidConfig, readConfig, unknownSettings, type Config } from './config.ts';
import { createLogger, type Logger } from './observability/logger.ts';
import type { JsonValue } from './ports/read-model/read-model.ts';
import { armCrashPoints } from './runtime/util/crash-point.ts';
import { messageOf } from './runtime/util/message-of.ts';

/** The command line of the service. Sets the exit code; never throws. Loads only what a command needs. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    await createProgram(host()).parseAsync([...args], { from: 'user' });
  } catch (error) {
    const unforeseen = error instanceof Error && !FOR_OPERATORS.has(error.name);
    process.stderr.write(`${systemFault(error) ?? (unforeseen ? (error.stack ?? error.message) : messageOf(error))}\n`);
    // A partial start must not keep the process alive.
    process.exit(1);
  }
}

/** Errors whose message contains everything an operator needs; a stack would only distract. */
const FOR_OPERATORS: ReadonlySet<string> = new Set([
  'AuthenticationError',
  'CannotOpen',
  'CommandRefused',
  'ConnectionError',
  'DataDirInUse',
  'InvalidConfig',
  'InvalidExtendedPublicKey',
  'InvalidMasterKey',
  'InvalidRequestError',
  'InvalidSolanaPool',
  'InvalidWalletSettings',
  'KeyNotHeld',
  'EventLogMoved',
  'LogDamaged',
  'MigrationRefused',
  'NoService',
  'NotFoundError',
  'ServiceError',
  'SignerUnavailable',
  'StoreDenies',
]);

/** Tools for testing a merchant's programs. */
const OF_MERCHANTS: Pick<CliHost, 'listen' | 'requests' | 'trigger'> = {
  listen: async ({ credentials, ...options }) => {
    const { readAccess, startListening } = await import('./cli/listen.ts');
    const access = readAccess(credentials, process.env);
    await runUntilSignal(() =>
      startListening(access, { ...options, say: (line) => void process.stdout.write(`${line}\n`) }),
    );
  },
  requests: async (id, filters, credentials) => {
    const { latestRequests, readAccess } = await import('./cli/listen.ts');
    return latestRequests(readAccess(credentials, process.env), id, filters);
  },
  trigger: async (kind, network, credentials) => {
    const { readAccess, trigger } = await import('./cli/listen.ts');
    return { ...(await trigger(readAccess(credentials, process.env), kind, network)) };
  },
};

function host(): CliHost {
  return {
    startSandbox: async () => {
      const { checkSandboxConfig, startSandbox } = await import('./composition/sandbox.ts');
      const config = readConfig(process.env);
      checkSandboxConfig(config, process.env);
      const log = createLogger(config.LOG_LEVEL);
      nameUnknownSettings(log);
      const crashAt = process.env['CRASH_AT'] ?? '';
      armCrashPoints(crashAt);
      await runLogged(config, log, () => startSandbox(config, log, crashAt));
    },
    startSandboxNode: async (file) => {
      const { startSandboxNode } = await import('./composition/sandbox-node.ts');
      const config = readConfig(process.env);
      const log = createLogger(config.LOG_LEVEL);
      await runLogged(config, log, () => startSandboxNode(config, log, file));
    },
    serve: async () => {
      const { checkProductionConfig, startProduction } = await import('./composition/production.ts');
      const config = readConfig(process.env);
      checkProductionConfig(config, process.env);
      const log = createLogger(config.LOG_LEVEL);
      nameUnknownSettings(log);
      await runLogged(config, log, () => startProduction(config, log, process.env));
    },
    doctor: async () => {
      const { diagnose } = await import('./doctor/doctor.ts');
      return diagnose(process.env);
    },
    runSigner: async (file) => {
      const { startSignerService } = await import('./composition/signer-service.ts');
      const log = createLogger('info');
      await runUntilSignal(() => startSignerService(file, log), endLogged(log));
    },
    ...OF_MERCHANTS,
    admin,
    ask: async (question) => (await import('./cli/passphrase.ts')).askVisibly(question),
    openApproverKey: async (args) => {
      const { openKeyFile } = await import('./key-tools/approver.ts');
      return openKeyFile(args, process.env);
    },
    exportEventLog: async (file) =>
      (await import('./composition/commands/log-exports.ts')).exportEventLogFile(readConfig(process.env), file),
    exportBooks: async (file) =>
      (await import('./composition/commands/log-exports.ts')).exportBooksFile(readConfig(process.env), file),
    verifyFiles: async (options) => {
      const [{ verifyFiles }, { SpilledMap }] = await Promise.all([
        import('./cli/audit.ts'),
        import('./adapters/sqlite/read-model/spilled-map.ts'),
      ]);
      return verifyFiles(options, () => new SpilledMap());
    },
    ...{ adminStream, prepareLookUps, migrate: migrateEventLog },
  };
}

/** Starts and stops are logged, so that two of them can be compared. */
async function runLogged(config: Config, log: Logger, start: () => Promise<{ close(): Promise<void> }>): Promise<void> {
  const { configurationSummary } = await import('./settings/configuration-summary.ts');
  log.info({ ...configurationSummary(config) }, 'the service starts');
  await runUntilSignal(start, endLogged(log));
}

const endLogged = (log: Logger) => ({
  tell: (message: string, facts: object): void => log.info(facts, message),
  onDriverFailure: (error: Error): void =>
    log.error({ err: error }, 'a driver failed where nobody waited for its answer: the process goes on'),
});

const migrateEventLog: CliHost['migrate'] = async ({ from, to }) => {
  const url = to ?? process.env['EVENTSTORE_URL'];
  if (url === undefined) throw new InvalidConfig('name the target with --to esdb://... or in EVENTSTORE_URL');
  if (to !== undefined && /^[^/]*\/\/[^/]*:[^/]*@/.test(to))
    throw new InvalidConfig(
      '--to holds a password, which everybody sees in the list of processes: name that target in EVENTSTORE_URL',
    );
  const [{ migrate }, { createProgress }, { ownKeys }, { authenticationKeys }] = await Promise.all([
    import('./migration/migrate.ts'),
    import('./cli/progress.ts'),
    import('./composition/commands/own-keys.ts'),
    import('./settings/sealing-keys.ts'),
  ]);
  const sealKeys = authenticationKeys(ownKeys({ ...readConfig(process.env), DATA_DIR: from }).sealingKeys);
  const progress = createProgress(process.stderr);
  try {
    return await migrate({ from, sealKeys, to: url, onProgress: (...at) => progress.report(...at) });
  } finally {
    progress.end();
  }
};

const prepareLookUps = async (): Promise<JsonValue> => {
  const { prepareSnapshot } = await import('./look-ups/snapshots/prepare.ts');
  const { createProgress } = await import('./cli/progress.ts');
  const progress = createProgress(process.stderr);
  try {
    return await prepareSnapshot(readConfig(process.env), '', (done, total) =>
      progress.report('making look-ups', done, total),
    );
  } finally {
    progress.end();
  }
};

/** A setting with a misspelt name would silently have no effect. */
function nameUnknownSettings(log: Logger): void {
  for (const { name, meant } of unknownSettings(process.env))
    if (meant !== null)
      log.warn(
        { setting: name, meant },
        'a variable of the environment resembles a setting and is none: it has no effect',
      );
}

/** The running service runs the command; without one, the data directory is opened for this command. */
async function admin(command: string, given: AdminArguments): Promise<JsonValue> {
  const args = signed(given);
  if (command.startsWith('wallet.')) {
    const { runWalletTool } = await import('./key-tools/wallet.ts');
    return runWalletTool(command, args, process.env, createLogger('warn'));
  }
  if (command === 'approver.enroll') {
    const { enrolApprover } = await import('./key-tools/approver.ts');
    return enrolApprover(args, process.env);
  }
  const config = readConfig(process.env);
  if (command.startsWith('backup.')) {
    const { runBackupCommand } = await import('./backup/commands.ts');
    return runBackupCommand(config, command, args);
  }
  if (command === 'audit.accept') {
    const { acceptEventLog } = await import('./composition/commands/accept-event-log.ts');
    return acceptEventLog(config, args);
  }
  if (command === 'store.users') {
    const { setStoreUsers } = await import('./composition/commands/store-users.ts');
    return setStoreUsers(process.env);
  }
  if (command === 'session.forget' && config.EVENTSTORE_ERASER_URL !== undefined) {
    const { forgetOnServers } = await import('./composition/commands/store-users.ts');
    return forgetOnServers(config, args);
  }
  if (command.startsWith('operator.')) {
    const [{ runOperatorCommand }, { fileOperators }, { ownKeys }, { authenticationKeys }] = await Promise.all([
      import('./operator/people/operators.ts'),
      import('./adapters/node/operators-file.ts'),
      import('./composition/commands/own-keys.ts'),
      import('./settings/sealing-keys.ts'),
    ]);
    const operators = fileOperators(config.DATA_DIR, () => authenticationKeys(ownKeys(config).sealingKeys));
    return runOperatorCommand(operators, command, args, Math.floor(Date.now() / 1000));
  }
  try {
    return await callAdmin(config.DATA_DIR, command, args);
  } catch (error) {
    if (!(error instanceof NoService)) throw error;
    const { runOffline } = await import('./composition/commands/offline.ts');
    return runOffline(config, createLogger('warn'), command, args);
  }
}

/** An operator who gives no name is recorded by their user name on this machine. */
const signed = (args: AdminArguments): AdminArguments =>
  args['actor'] === undefined && args['operator'] === undefined ? { ...args, actor: accountName() } : args;

/** A container may run as a user without a name. */
function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'operator';
  }
}

async function adminStream(command: string, given: AdminArguments): Promise<AdminStream> {
  const args = signed(given);
  const config = readConfig(process.env);
  try {
    return await streamAdmin(config.DATA_DIR, command, args);
  } catch (error) {
    if (!(error instanceof NoService)) throw error;
    const { streamOffline } = await import('./composition/commands/offline.ts');
    return streamOffline(config, createLogger('warn'), command, args);
  }
}
