import type { Command } from 'commander';
import type { CliHost, DoctorLine } from '../host.ts';
import { inert, print } from '../print.ts';

/** `quittance doctor`: exits with 1 when it finds a fault. */
export function addDoctor(program: Command, host: CliHost): void {
  program
    .command('doctor')
    .description(
      'check everything the service depends on in this environment: one line each with state, reason and remedy',
    )
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const found = await host.doctor();
      if (json)
        print(
          found.map((line) => ({ ...line })),
          true,
        );
      else process.stdout.write(`${linesOf(found).join('\n')}\n`);
      if (found.some(({ state }) => state === 'fault')) process.exitCode = 1;
    });
}

const ORDER = ['fault', 'warning', 'skipped', 'ok'] as const;

/** Worst first. */
function linesOf(found: readonly DoctorLine[]): string[] {
  const width = Math.max(...found.map(({ check }) => check.length));
  const sorted = found.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  const count = (state: DoctorLine['state']): number => found.filter((line) => line.state === state).length;
  return [
    ...sorted.flatMap(({ check, state, why, action }) => [
      `${state.padEnd(7)}  ${check.padEnd(width)}  ${inert(why)}`,
      ...(action === '' ? [] : [`${' '.repeat(11 + width)}-> ${inert(action)}`]),
    ]),
    '',
    `${count('fault')} faults, ${count('warning')} warnings, ${count('ok')} ok, ${count('skipped')} skipped`,
  ];
}
