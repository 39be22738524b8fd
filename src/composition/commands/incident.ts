import { existsSync, readFileSync } from 'node:fs';
import { parseSubject } from '../../cli/incident.ts';
import { InvalidConfig, readConfig } from '../../config.ts';
import { collectIncident } from '../../features/sessions/incident/collect.ts';
import { withoutSecrets } from '../../observability/plain-error.ts';
import { toSec, systemClock } from '../../ports/clock.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { writePrivateFile } from '../../runtime/files/private-file.ts';
import { configurationSummary } from '../../settings/configuration-summary.ts';
import { reading } from './log-exports.ts';
import { codeOf } from '../../runtime/util/code-of.ts';

/**
 * Writes the records of a session or a time range into a file readable only by this user. Throws `InvalidConfig` and
 * `NoIncident`.
 */
export async function exportIncident(
  env: Readonly<Record<string, string | undefined>>,
  subjectText: string,
  output: string,
  logs: string | undefined,
): Promise<JsonValue> {
  const subject = parseSubject(subjectText);
  if (existsSync(output)) throw new InvalidConfig(`--output: ${output} already exists`);
  const logLines = logs === undefined ? [] : linesIn(logs);
  const config = readConfig(env);
  const madeAtSec = toSec(systemClock.nowMs());
  const incident = await reading(config, (store) =>
    collectIncident(store, { subject, configuration: configurationSummary(config), madeAtSec, logLines }),
  );
  writePrivateFile(output, `${JSON.stringify(incident)}\n`);
  return {
    file: output,
    sessions: incident.sessions.length,
    events: incident.sessions.reduce((total, { events }) => total + events.length, 0),
    ranges_read: incident.coverage.length,
    log_lines: incident.logs.length,
  };
}

/** Other programs may have written into the log file too. */
function linesIn(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').map(withoutSecrets);
  } catch (error) {
    throw new InvalidConfig(`--logs: ${file} cannot be read (${codeOf(error) ?? 'unknown'})`);
  }
}
