/**
 * `FUZZ=<factor>` multiplies the runs of every property test: `npm run test:fuzz` looks longer than a test run may
 * take.
 */
const FACTOR = Number(process.env['FUZZ'] ?? 1);

/** How often a property is tried, where it is tried `usual` times in `npm test`. */
export const runsOf = (usual: number): number => Math.ceil(usual * FACTOR);
