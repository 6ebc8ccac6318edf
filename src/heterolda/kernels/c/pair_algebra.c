/* Diagonal form of a pair of covariances, without eigenvectors.

   S1 + S2 = U'U, W = U^-1, and reflections bring W'S1 W to tridiagonal form, the first
   of which maps W'delta to an axis. The rotations that diagonalize it are stored:
   applied to the row of that axis they give c, and applied to any u in reverse order
   they give V u, both in O(d^2). Directions in which a class has almost no variance are
   treated separately, with the covariances themselves, as in solvers/pencil.py. */
#include "pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

/* As in foundations/rounding.py. */
static const double FLOOR = 1e-7, NO_DIFFERENCE = 1e-6, FARTHEST = 1e50;
/* Up to this trace of the inverse of S1 + S2, scaled to unit diagonal, all directions are
   real unless means are rounded; up to the second, rounding of means does not matter. */
static const double ALL_REAL = 1e10, REGULAR = 1e8;
/* Smaller variances lose relative precision in the diagonalization. */
static const double SMALL = 1e-4;

bool make_diagonal(Diagonal *form, int64_t d)
{
    int64_t padded = d + 4, square = d * d + 8 * d, vectors = 16 * padded + 4 * d + MOST_COLUMNS;
    form->d = d;
    form->most_rotations = 3 * square + 64;
    size_t doubles = (size_t)(vectors + 6 * square) * sizeof(double);
    size_t rotations = (size_t)form->most_rotations * sizeof(Rotation);
    size_t indices = 2 * (size_t)d * sizeof(int64_t);
    char *memory = form->memory = malloc(doubles + rotations + indices);
    if (!memory)
        return false;
    form->rotations = (Rotation *)memory;
    form->at = (int64_t *)(memory + rotations);
    form->directions = form->at + d;
    double *next = (double *)(memory + rotations + indices);
    double **long_ones[] = {&form->scale,   &form->delta,   &form->mirror_factor,
                            &form->off,     &form->alpha,   &form->beta,
                            &form->c,       &form->alpha0,  &form->beta0,
                            &form->raised1, &form->raised2, &form->u,
                            &form->length,  &form->tridiagonal.diag,
                            &form->tridiagonal.off_diag};
    for (size_t k = 0; k < sizeof(long_ones) / sizeof(long_ones[0]); k++, next += padded)
        *long_ones[k] = next;
    form->column = next;
    next += padded + 4 * d + MOST_COLUMNS;
    double **squares[] = {&form->sum,     &form->first,   &form->whitening,
                          &form->product, &form->reduced, &form->mirrors};
    for (size_t k = 0; k < sizeof(squares) / sizeof(squares[0]); k++, next += square)
        *squares[k] = next;
    return true;
}

void free_diagonal(Diagonal *form) { free(form->memory); }

/* y += a0 x0 + a1 x1 + a2 x2 + a3 x3, where the rows x are `stride` apart. */
INLINE void add_rows4(double *RESTRICT y, const double *RESTRICT x, int64_t stride,
                      double a0, double a1, double a2, double a3, int64_t n)
{
    const double *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride;
    for (int64_t j = 0; j < n; j++)
        y[j] += (a0 * x[j] + a1 * x1[j]) + (a2 * x2[j] + a3 * x3[j]);
}

INLINE void add_row(double *RESTRICT y, const double *RESTRICT x, double a, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        y[j] += a * x[j];
}

/* Find the features that vary, their units, and the differences of the means, zero if they
   may be rounding. False if the means of a constant feature differ. */
static bool scale_features(Diagonal *form, const Classes *pair)
{
    const double *S1 = pair->covariance[0], *S2 = pair->covariance[1];
    form->m = 0;
    for (int64_t i = 0; i < form->d; i++) {
        double total = S1[i * form->d + i] + S2[i * form->d + i];
        double m1 = pair->mean[0][i], m2 = pair->mean[1][i], delta = m1 - m2;
        double offset = fabs(m1) > fabs(m2) ? fabs(m1) : fabs(m2);
        if (total == 0) {
            if (fabs(delta) > 16 * EPS * offset)
                return false;
            continue;
        }
        double scale = sqrt(total), rounding = 4 * EPS * offset;
        if (rounding > NO_DIFFERENCE * scale)
            rounding = NO_DIFFERENCE * scale;
        rounding += 64 * EPS * scale;
        form->at[form->m] = i;
        form->scale[form->m] = scale;
        form->delta[form->m++] = fabs(delta) <= rounding ? 0.0 : delta / scale;
    }
    return form->m > 0;
}

WIDE static void scaled_covariances(Diagonal *form, const Classes *pair, bool with_sum)
{
    int64_t m = form->m, d = form->d;
    const double *S1 = pair->covariance[0], *S2 = pair->covariance[1];
    double *inverse = form->column;
    for (int64_t j = 0; j < m; j++)
        inverse[j] = 1 / form->scale[j];
    for (int64_t i = 0; i < m; i++) {
        const double *row1 = S1 + form->at[i] * d, *row2 = S2 + form->at[i] * d;
        double *first = form->first + i * m, *sum = form->sum + i * m;
        for (int64_t j = 0; j < m; j++)
            first[j] = row1[form->at[j]] * inverse[i] * inverse[j];
        if (with_sum)
            for (int64_t j = i; j < m; j++)
                sum[j] = first[j] + row2[form->at[j]] * inverse[i] * inverse[j];
    }
}

/* W = U^-1 with S1 + S2 = U'U; false if that is too nearly singular. */
WIDE static bool whiten(Diagonal *form)
{
    int64_t m = form->m;
    double *U = form->sum, *W = form->whitening;
    for (int64_t k = 0; k < m; k++) {
        double pivot = U[k * m + k];
        if (!(pivot > 0))
            return false;
        double root = sqrt(pivot), inverse = 1 / root;
        double *row = U + k * m;
        row[k] = root;
        for (int64_t j = k + 1; j < m; j++)
            row[j] *= inverse;
        for (int64_t i = k + 1; i < m; i++)
            add_row(U + i * m + i, row + i, -row[i], m - i);
    }
    double trace = 0;
    for (int64_t i = m - 1; i >= 0; i--) {
        double *row = W + i * m, inverse = 1 / U[i * m + i];
        memset(row, 0, (size_t)m * sizeof(double));
        int64_t k = i + 1;
        for (; k + 4 <= m; k += 4) {
            const double *factor = U + i * m + k;
            add_rows4(row + k, W + k * m + k, m, factor[0], factor[1], factor[2],
                      factor[3], m - k);
        }
        for (; k < m; k++)
            add_row(row + k, W + k * m + k, U[i * m + k], m - k);
        row[i] = inverse;
        for (int64_t j = i + 1; j < m; j++)
            row[j] *= -inverse;
        trace += dot(row + i, row + i, m - i);
    }
    form->r = m;
    form->triangular = true;
    form->trace = trace; /* of the inverse of S1 + S2 */
    return trace <= ALL_REAL;
}

/* Return whether the rounding of the means may exceed the deviation in some direction. */
static bool is_blurred(const Diagonal *form, const Classes *pair)
{
    double size = 0;
    for (int64_t i = 0; i < form->m; i++)
        for (int k = 0; k < 2; k++)
            size += fabs(pair->mean[k][form->at[i]]) / form->scale[i];
    double blur = 8 * EPS * size;
    return form->trace > REGULAR && blur * blur * form->trace >= 1;
}

/* Copy a given whitening without its zero columns and the constant features. */
static void take_whitening(Diagonal *form, const double *whitening)
{
    int64_t m = form->m, d = form->d, r = 0;
    for (int64_t j = 0; j < d && r < m; j++) {
        bool used = false;
        for (int64_t i = 0; i < m; i++)
            used |= whitening[form->at[i] * d + j] != 0;
        if (used)
            form->off[r++] = (double)j;
    }
    double trace = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < r; j++) {
            double value = whitening[form->at[i] * d + (int64_t)form->off[j]];
            form->whitening[i * r + j] = value;
            trace += value * value;
        }
    form->r = r;
    form->triangular = false;
    form->trace = trace;
}

/* reduced = W'S1 W. */
WIDE static void reduce(Diagonal *form)
{
    int64_t m = form->m, r = form->r;
    const double *S = form->first, *W = form->whitening;
    double *B = form->product, *A = form->reduced;
    memset(B, 0, (size_t)(m * r) * sizeof(double));
    memset(A, 0, (size_t)(r * r) * sizeof(double));
    for (int64_t i = 0; i < m; i++) {
        int64_t k = 0;
        for (; k + 4 <= m; k += 4) {
            const double *a = S + i * m + k;
            int64_t from = form->triangular ? k : 0;
            add_rows4(B + i * r + from, W + k * r + from, r, a[0], a[1], a[2], a[3],
                      r - from);
        }
        for (; k < m; k++)
            add_row(B + i * r, W + k * r, S[i * m + k], r);
    }
    for (int64_t i = 0; i < r; i++) {
        int64_t k = 0, last = form->triangular ? i + 1 : m;
        for (; k + 4 <= last; k += 4) {
            const double *w = W + k * r + i;
            add_rows4(A + i * r, B + k * r, r, w[0], w[r], w[2 * r], w[3 * r], i + 1);
        }
        for (; k < last; k++)
            add_row(A + i * r, B + k * r, W[k * r + i], i + 1);
        for (int64_t j = 0; j < i; j++)
            A[j * r + i] = A[i * r + j];
    }
}

/* Tridiagonal form of `reduced`: the diagonal in alpha, the off-diagonal in off, with
   off[k] between k and k + 1. The first reflection maps x to the last axis. Returns the
   component of x along it. */
WIDE static double reflect(Diagonal *form, double *x)
{
    int64_t r = form->r;
    double *A = form->reduced, *p = form->column, length = 0;
    for (int64_t n = r; n > 0; n--) {
        double *v = form->mirrors + (n - 1) * r, *row = A + (n - 1) * r;
        double last = x[n - 1], rest = dot(x, x, n - 1), factor = 0, along = last;
        memcpy(v, x, (size_t)n * sizeof(double));
        if (rest > 0) {
            along = -copysign(sqrt(last * last + rest), last);
            v[n - 1] = last - along;
            factor = 2 / (rest + v[n - 1] * v[n - 1]);
            memset(p, 0, (size_t)n * sizeof(double));
            add_lines(v, n, A, r, n, p);
            double half = 0.5 * factor * factor * dot(p, v, n);
            for (int64_t i = 0; i < n; i++)
                p[i] = factor * p[i] - half * v[i];
            for (int64_t i = 0; i < n; i++) {
                double *RESTRICT line = A + i * r;
                double a = v[i], b = p[i];
                for (int64_t j = 0; j < n; j++)
                    line[j] -= a * p[j] + b * v[j];
            }
        }
        form->mirror_factor[n - 1] = factor;
        if (n == r)
            length = along;
        else
            form->off[n - 1] = along;
        form->alpha[n - 1] = row[n - 1];
        x = row;
    }
    return length;
}

/* Eigenvalues of the tridiagonal form by the QL method with implicit shifts; c becomes
   the last row of the eigenvectors. False if it does not converge. */
static bool rotate_to_diagonal(Diagonal *form)
{
    int64_t n = form->r;
    double *d = form->alpha, *e = form->off, *z = form->c;
    form->n_rotations = 0;
    for (int64_t k = 0; k < n; k++)
        z[k] = k == n - 1 ? 1.0 : 0.0;
    e[n - 1] = 0;
    for (int64_t l = 0; l < n; l++) {
        for (int tries = 0;; tries++) {
            int64_t m = l;
            for (; m < n - 1; m++)
                if (fabs(e[m]) <= EPS * (fabs(d[m]) + fabs(d[m + 1])) + 1e-30)
                    break;
            if (m == l)
                break;
            if (tries == 60 || form->n_rotations + (m - l) > form->most_rotations)
                return false;
            double g = (d[l + 1] - d[l]) / (2 * e[l]), root = sqrt(g * g + 1);
            g = d[m] - d[l] + e[l] / (g + copysign(root, g));
            double s = 1, c = 1, p = 0;
            int64_t i = m - 1;
            for (; i >= l; i--) {
                double f = s * e[i], b = c * e[i];
                root = e[i + 1] = sqrt(f * f + g * g);
                if (root == 0) {
                    d[i + 1] -= p;
                    e[m] = 0;
                    break;
                }
                s = f / root;
                c = g / root;
                g = d[i + 1] - p;
                root = (d[i] - g) * s + 2 * c * b;
                p = s * root;
                d[i + 1] = g + p;
                g = c * root - b;
                f = z[i + 1];
                z[i + 1] = s * z[i] + c * f;
                z[i] = c * z[i] - s * f;
                form->rotations[form->n_rotations++] = (Rotation){c, s, i};
            }
            if (i >= l)
                continue;
            d[l] -= p;
            e[l] = g;
            e[m] = 0;
        }
    }
    return true;
}

WIDE void apply_to_columns(const Diagonal *form, double *u, int64_t k, bool turned, double *w)
{
    int64_t m = form->m, r = form->r;
    double *RESTRICT along = form->column;
    for (int64_t n = turned ? 0 : form->n_rotations; n > 0; n--) {
        Rotation turn = form->rotations[n - 1];
        double *RESTRICT a = u + turn.i * k, *RESTRICT b = a + k;
        for (int64_t j = 0; j < k; j++) {
            double before = a[j];
            a[j] = turn.cos * before + turn.sin * b[j];
            b[j] = turn.cos * b[j] - turn.sin * before;
        }
    }
    for (int64_t n = 1; n <= r; n++) {
        const double *v = form->mirrors + (n - 1) * r;
        double factor = form->mirror_factor[n - 1];
        if (factor == 0)
            continue;
        memset(along, 0, (size_t)k * sizeof(double));
        add_lines(v, n, u, k, k, along);
        for (int64_t i = 0; i < n; i++)
            add_row(u + i * k, along, -factor * v[i], k);
    }
    memset(w, 0, (size_t)(m * k) * sizeof(double));
    for (int64_t i = 0; i < m; i++) {
        int64_t from = form->triangular ? i : 0;
        add_lines(form->whitening + i * r + from, r - from, u + from * k, k, k, w + i * k);
    }
}

void apply_basis(Diagonal *form, const double *u1, const double *u2, double *w1, double *w2)
{
    double *y = form->column + 2, *normal = y + 2 * form->r;
    for (int64_t j = 0; j < form->r; j++) {
        y[2 * j] = u1[j] / form->length[j];
        y[2 * j + 1] = u2[j] / form->length[j];
    }
    apply_to_columns(form, y, 2, false, normal);
    memset(w1, 0, (size_t)form->d * sizeof(double));
    memset(w2, 0, (size_t)form->d * sizeof(double));
    for (int64_t i = 0; i < form->m; i++) {
        w1[form->at[i]] = normal[2 * i] / form->scale[i];
        w2[form->at[i]] = normal[2 * i + 1] / form->scale[i];
    }
}

INLINE double clipped(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Sums over features of `numbers` times the squares of k columns. */
WIDE static void sum_squares(const double *numbers, const double *v, int64_t m, int64_t k,
                             double *RESTRICT sums)
{
    memset(sums, 0, (size_t)k * sizeof(double));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < k; j++)
            sums[j] += numbers[i] * (v[i * k + j] * v[i * k + j]);
}

/* Quadratic forms v'S v of k columns, with S in units of the scale. */
WIDE static void quadratic_forms(Diagonal *form, const double *S, const double *v,
                                 int64_t k, double *work, double *RESTRICT squares)
{
    int64_t m = form->m;
    memset(squares, 0, (size_t)k * sizeof(double));
    for (int64_t i = 0; i < m; i++) {
        const double *row = S + form->at[i] * form->d;
        memset(work, 0, (size_t)k * sizeof(double));
        for (int64_t l = 0; l < m; l++)
            add_row(work, v + l * k, row[form->at[l]] / (form->scale[i] * form->scale[l]), k);
        for (int64_t j = 0; j < k; j++)
            squares[j] += v[i * k + j] * work[j];
    }
}

/* Variances along k directions from the covariances themselves; zeros are raised to the
   floor. False if a direction is lost in rounding errors. */
static bool refine(Diagonal *form, const Classes *pair, const int64_t *directions,
                   int64_t k)
{
    int64_t m = form->m, d = form->d;
    /* The matrices are no longer needed. */
    double *u = form->product, *v = form->reduced, *work = form->sum, *numbers = work + k;
    double *square[2], *noise[2], *next = form->first;
    memset(u, 0, (size_t)(form->r * k) * sizeof(double));
    for (int64_t j = 0; j < k; j++)
        u[directions[j] * k + j] = 1;
    apply_to_columns(form, u, k, false, v);
    for (int c = 0; c < 2; c++, next += 2 * k) {
        square[c] = next, noise[c] = next + k;
        quadratic_forms(form, pair->covariance[c], v, k, work, square[c]);
        for (int64_t i = 0; i < m; i++) {
            double scale = form->scale[i];
            double variance = pair->covariance[c][form->at[i] * (d + 1)] / (scale * scale);
            double place = 4 * EPS * fabs(pair->mean[c][form->at[i]]) / scale;
            place = place < 1 ? place : 1;
            numbers[i] = (64 + 4 * d) * EPS * variance + place * place;
        }
        sum_squares(numbers, v, m, k, noise[c]);
    }
    for (int64_t j = 0; j < k; j++) {
        int64_t at = directions[j];
        double first = square[0][j] > 0 ? square[0][j] : 0;
        double second = square[1][j] > 0 ? square[1][j] : 0, norm = first + second, c = 0;
        if (!(norm > 0.5 && norm < 2))
            return false;
        double alpha = first / norm, beta = second / norm;
        bool none1 = alpha <= clipped(noise[0][j] / norm, 64 * EPS, FLOOR);
        bool none2 = beta <= clipped(noise[1][j] / norm, 64 * EPS, FLOOR);
        form->alpha0[at] = none1 ? 0 : none2 ? 1 : alpha;
        form->beta0[at] = none2 ? 0 : none1 ? 1 : beta;
        form->alpha[at] = none1 ? FLOOR : none2 ? 1 - FLOOR : alpha;
        form->beta[at] = none2 ? FLOOR : none1 ? 1 - FLOOR : beta;
        form->raised1[at] = form->alpha[at] - alpha;
        form->raised2[at] = form->beta[at] - beta;
        form->length[at] = sqrt(norm);
        for (int64_t i = 0; i < m; i++)
            c += v[i * k + j] * form->delta[i];
        form->c[at] = c / form->length[at];
        form->floored[0] |= none1;
        form->floored[1] |= none2;
    }
    return true;
}

Outcome tridiagonalize(Diagonal *form, const Classes *pair, const double *whitening)
{
    if (!scale_features(form, pair))
        return SINGULAR;
    scaled_covariances(form, pair, whitening == NULL);
    if (whitening)
        take_whitening(form, whitening);
    else if (!whiten(form) || is_blurred(form, pair))
        return SINGULAR;
    int64_t m = form->m, r = form->r;
    if (r == 0)
        return UNSOLVED;
    reduce(form);
    double *x = form->column + r, largest = 0;
    memset(x, 0, (size_t)r * sizeof(double));
    for (int64_t i = 0; i < m; i++)
        add_row(x, form->whitening + i * r, form->delta[i], r);
    for (int64_t j = 0; j < r; j++)
        largest = fabs(x[j]) > largest ? fabs(x[j]) : largest;
    if (!(largest <= FARTHEST))
        return UNSOLVED;
    if (largest > 0)
        for (int64_t j = 0; j < r; j++)
            x[j] /= largest;
    Tridiagonal *tri = &form->tridiagonal;
    tri->n = r;
    tri->distance = largest * reflect(form, x);
    memcpy(tri->diag, form->alpha, (size_t)r * sizeof(double));
    memcpy(tri->off_diag, form->off, (size_t)r * sizeof(double));
    form->floored[0] = form->floored[1] = false;
    return DONE;
}

Outcome diagonalize(Diagonal *form, const Classes *pair)
{
    const Tridiagonal *tri = &form->tridiagonal;
    memcpy(form->alpha, tri->diag, (size_t)form->r * sizeof(double));
    memcpy(form->off, tri->off_diag, (size_t)form->r * sizeof(double));
    form->floored[0] = form->floored[1] = false;
    if (!rotate_to_diagonal(form))
        return UNSOLVED;
    int64_t r = form->r, k = 0, *directions = form->directions;
    for (int64_t j = 0; j < r; j++) {
        double alpha = form->alpha[j] = clipped(form->alpha[j], 0, 1);
        form->beta[j] = 1 - alpha;
        form->c[j] *= form->tridiagonal.distance;
        form->alpha0[j] = alpha;
        form->beta0[j] = 1 - alpha;
        form->raised1[j] = form->raised2[j] = 0;
        form->length[j] = 1;
        if (alpha < SMALL || alpha > 1 - SMALL)
            directions[k++] = j;
    }
    if (k && !refine(form, pair, directions, k))
        return UNSOLVED;
    for (int64_t j = 0; j < r; j++)
        if (!(fabs(form->c[j]) <= FARTHEST))
            return UNSOLVED;
    return DONE;
}
