import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './running-sandbox.ts';
import { freePort } from './free-port.ts';

/** Undefined where Prometheus is not installed. */
export const PROMETHEUS = ['/usr/bin/prometheus', '/usr/local/bin/prometheus'].find((path) => existsSync(path));

export interface RunningPrometheus {
  /** Values of an instant query; throws when the query is wrong. */
  query(expression: string): Promise<number[]>;
  rules(): Promise<{ readonly name: string; readonly health: string; readonly state: string }[]>;
  stop(): Promise<void>;
}

/** A Prometheus of its own that reads one ops port every second. `rules` is the text of a rule file. */
export async function startPrometheus(opsUrl: string, rules: string): Promise<RunningPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-prometheus-'));
  const port = await freePort();
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: [{ job_name: 'quittance', static_configs: [{ targets: [new URL(opsUrl).host] }] }],
  };
  writeFileSync(join(folder, 'rules.yml'), rules);
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const child = spawn(
    PROMETHEUS!,
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((done) => child.once('exit', done));
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await eventually('the start of Prometheus', async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    query: async (expression) => {
      const response = await fetch(`${url}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query: expression }),
      });
      const answer = (await response.json()) as {
        status: string;
        error?: string;
        data: { result: { value: [number, string] }[] };
      };
      if (answer.status !== 'success') throw new Error(`${expression}: ${answer.error}`);
      return answer.data.result.map(({ value }) => Number(value[1]));
    },
    rules: async () => {
      const answer = (await (await fetch(`${url}/api/v1/rules?type=alert`)).json()) as {
        data: { groups: { rules: { name: string; health: string; state: string }[] }[] };
      };
      return answer.data.groups.flatMap(({ rules: group }) => group);
    },
    stop,
  };
}
