import { CommandRefused } from './cli/admin-commands.ts';
import { callAdmin, NoService } from './cli/admin-client.ts';
import { createProgram, type CliHost } from './cli/program.ts';
import { checkProductionConfig, startProduction } from './composition/production.ts';
import { checkSandboxConfig, startSandbox } from './composition/sandbox.ts';
import { InvalidConfig, readConfig } from './config.ts';
import { createLogger } from './ops/logger.ts';

/** How long an orderly end may take before the process ends anyway; what is written is safe at any moment. */
const SHUTDOWN_MS = 10_000;

/** The command line of the service. Sets the exit code; never throws. */
export async function main(args: readonly string[]): Promise<void> {
  try {
    await createProgram(host()).parseAsync([...args], { from: 'user' });
  } catch (error) {
    const expected = error instanceof CommandRefused || error instanceof InvalidConfig || error instanceof NoService;
    process.stderr.write(`${expected || !(error instanceof Error) ? message(error) : (error.stack ?? error.message)}\n`);
    process.exitCode = 1;
  }
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function host(): CliHost {
  return {
    startSandbox: async () => {
      const config = readConfig(process.env);
      checkSandboxConfig(config, process.env);
      const log = createLogger(config.LOG_LEVEL);
      await runUntilSignal(() => startSandbox(config, log));
    },
    serve: async () => {
      const config = readConfig(process.env);
      checkProductionConfig(config);
      const log = createLogger(config.LOG_LEVEL);
      await runUntilSignal(() => startProduction(config, log, process.env));
    },
    admin: (command, commandArguments) => callAdmin(readConfig(process.env).DATA_DIR, command, commandArguments),
  };
}

/** Starts, waits for SIGTERM or SIGINT, and ends in order. */
async function runUntilSignal(start: () => Promise<{ close(): Promise<void> }>): Promise<void> {
  const signalled = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve());
    process.once('SIGINT', () => resolve());
  });
  const running = await start();
  await signalled;
  setTimeout(() => process.exit(1), SHUTDOWN_MS).unref();
  await running.close();
  process.exit(0);
}
