import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { drillRules } from '../../drills/drill-rules.ts';
import { PLAN } from '../../drills/plan.ts';
import { REPOSITORY } from '../../support/repository.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = join(REPOSITORY, 'ops/prometheus');
const rules = readFileSync(join(folder, 'alerts.yml'), 'utf8');
const alerts = [...rules.matchAll(/^ {6}- alert: (\w+)$/gm)].map((match) => match[1]!);
const shippedCases = readFileSync(join(folder, 'alerts.test.yml'), 'utf8');
const PROMTOOL = ['/usr/bin/promtool', '/usr/local/bin/promtool'].find((path) => existsSync(path));

describe('alert rules', () => {
  it('have a section of the runbook each, and the runbook has no section for an alert that is gone', () => {
    const runbook = readFileSync(join(REPOSITORY, 'docs/runbook.md'), 'utf8');
    const [, sections = ''] = runbook.split('\n## Alerts\n');
    const headings = [...sections.split('\n## ')[0]!.matchAll(/^### (\w+)$/gm)].map((match) => match[1]!);
    expect(headings.toSorted()).toEqual(alerts.toSorted());
    for (const alert of alerts) {
      expect(rules).toContain(`runbook_url: '{{ $externalLabels.runbook }}#${alert.toLowerCase()}'\n`);
      const section = sections.split(`### ${alert}\n`)[1]!.split('\n##')[0]!;
      for (const part of ['**Meaning.**', '**Confirm.**', '**Do.**', '**Never.**'])
        expect(section, alert).toContain(part);
    }
  });

  it('have a case each that shows them firing and clearing', () => {
    const cases = shippedCases.split('\n  - name: ').slice(1);
    expect(cases.map((text) => text.split('\n')[0]).toSorted()).toEqual(alerts.toSorted());
    for (const text of cases)
      expect(text).toMatch(text.startsWith('Watchdog\n') ? /exp_labels/ : /exp_labels[\s\S]*exp_alerts: \[\]/);
  });

  it('have a drill each, and a row of what it measured', () => {
    // The watchdog never stops, a reverted refund needs a chain whose finality lags further behind than a payout's
    // completion (`test/e2e/refund-production.test.ts` has one), and certificates are those of servers
    // (`test/contract/esdb-certificates.test.ts`).
    const undrilled = ['Watchdog', 'EventStoreCertificateEnds'];
    const drilled = new Set(['RefundReverted', ...undrilled, ...PLAN.flat(2).flatMap((drill) => drill.alerts)]);
    expect([...drilled].toSorted()).toEqual(alerts.toSorted());
    const table = readFileSync(join(REPOSITORY, 'docs/observability.md'), 'utf8').split('<!-- drills -->')[1]!;
    for (const alert of alerts.filter((name) => !undrilled.includes(name)))
      expect(table).toMatch(new RegExp(`\\| \`${alert}\` +\\|.*\\| \\d+ s +\\| \\d+ s +\\|`));
  });

  it('are drilled as they are shipped, with other times and another mode only', () => {
    const shape = (text: string): string =>
      text.replaceAll(/\b\d+(?:\.\d+)?(?:e9|[smh])?/g, '#').replaceAll(/mode="(?:live|test)"/g, 'mode');
    expect(shape(drillRules(1))).toBe(shape(rules));
    expect(drillRules(1)).not.toBe(rules);
  });

  it.skipIf(PROMTOOL === undefined)(
    'are accepted by Prometheus and pass their cases',
    () => {
      expect(execFileSync(PROMTOOL!, ['check', 'rules', 'alerts.yml'], { cwd: folder, encoding: 'utf8' })).toContain(
        `SUCCESS: ${alerts.length} rules found`,
      );
      const apart = temporaryFolder('alerts');
      const cases = alerts.map((alert) => writeCase(apart, alert));
      const said = execFileSync(PROMTOOL!, ['test', 'rules', ...cases], { cwd: apart, encoding: 'utf8' });
      expect(said.match(/SUCCESS/g)).toHaveLength(alerts.length);
    },
    120_000,
  );
});

const partOf = (text: string, from: string, end: RegExp): string => {
  const part = text.slice(text.indexOf(from));
  return part.slice(0, from.length + part.slice(from.length).search(end));
};

/**
 * Each case with its own rule alone: with all of them in one file every case evaluates every rule, which takes half a
 * minute.
 */
function writeCase(directory: string, alert: string): string {
  const rule = partOf(`${rules}\n  - `, `      - alert: ${alert}\n`, /^ {6}- alert: |^ {2}- /m);
  writeFileSync(join(directory, `${alert}.yml`), `groups:\n  - name: ${alert}\n    rules:\n${rule}`);
  const one = partOf(`${shippedCases}\n  - name: `, `  - name: ${alert}\n`, /^ {2}- name: /m);
  writeFileSync(
    join(directory, `${alert}.test.yml`),
    `rule_files: [${alert}.yml]\nevaluation_interval: 1m\ntests:\n${one}`,
  );
  return `${alert}.test.yml`;
}
