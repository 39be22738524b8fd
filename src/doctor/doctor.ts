import { z } from 'zod';
import { isWriterLocked } from '../adapters/sqlite/writer-lock.ts';
import { InvalidConfig, readConfig, type Config } from '../config.ts';
import type { Log } from '../ports/log.ts';
import { fault, ok, warning, type Finding } from './finding.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { machineFindings, portFindings } from './machine-checks.ts';
import { settingsFindings, wrongSetting } from './settings-checks.ts';

type Environment = Readonly<Record<string, string | undefined>>;
const RUNNING_MS = 2_000;

/**
 * Checks everything that the service in this environment relies on, and changes nothing. Never rejects: a check that
 * cannot run is a finding.
 */
export async function diagnose(env: Environment): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(env);
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    return error.message.split('\n').map(wrongSetting);
  }
  const running = await runningFindings(config);
  const isRunning = running.length > 0;
  // Loaded lazily, because little else uses these modules.
  const [{ keyFindings }, { networkFindings }, { walletFindings }, { storeFindings }] = await Promise.all([
    import('./key-checks.ts'),
    import('./network-checks.ts'),
    import('./wallet-checks.ts'),
    import('./store-checks.ts'),
  ]);
  const looked = await Promise.all([
    part('ports', async () => (isRunning ? [] : portFindings(config))),
    part('sealing-keys', () => keyFindings(config)),
    part('wallet', () => walletFindings(config, env, isRunning)),
    part('networks', () => networkFindings(config)),
    part('stores', () => storeFindings(config)),
  ]);
  return [...settingsFindings(config, env), ...machineFindings(config), ...looked.flat(), ...running];
}

/** Checks that a start can make within milliseconds; invalid settings end the start anyway. */
export function quickFindings(config: Config, env: Environment): Finding[] {
  const findings = [...settingsFindings(config, env), ...machineFindings(config)];
  // The start reports these itself.
  return findings.filter(({ check, state }) => state !== 'ok' && check !== 'unknown-settings');
}

export function logFindings(findings: readonly Finding[], log: Pick<Log, 'warn' | 'error'>): void {
  for (const { check, state, why, action } of findings)
    log[state === 'fault' ? 'error' : 'warn']({ check, why, action }, 'a check at the start found a problem');
}

async function part(check: string, look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [fault(check, `could not be checked: ${messageOf(error)}`, 'report it to the developers')];
  }
}

const readiness = z.object({
  checks: z.array(z.object({ name: z.string(), state: z.string(), detail: z.string().optional() })).optional(),
});

/**
 * What the service reports about itself, if one with these settings is running. One that answers without holding the
 * data directory is another installation's, and its port is taken.
 */
async function runningFindings({ HOST: host, OPS_PORT: port, DATA_DIR: dataDir }: Config): Promise<Finding[]> {
  try {
    if (!isWriterLocked(dataDir)) return [];
    const answer = await fetch(`http://${host}:${port}/readyz`, { signal: AbortSignal.timeout(RUNNING_MS) });
    const { checks } = readiness.parse(await answer.json());
    if (checks === undefined) return [];
    const worse = checks.filter(({ state }) => state !== 'ok');
    return [
      ok('service', `runs, ${checks.length - worse.length} of ${checks.length} of its own checks are ok`),
      ...worse.map(({ name, state, detail = state }) =>
        (state === 'down' ? fault : warning)(
          `service:${name}`,
          detail,
          `see the status page at http://${host}:${port}/ and the runbook`,
        ),
      ),
    ];
  } catch {
    return [];
  }
}
